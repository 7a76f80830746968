"""Operations on layouts."""

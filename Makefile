# Each target is one line over `python -m`, so that it can be typed where there is no make.
PYTHON ?= python3

.PHONY: app test bench

app:
	@$(PYTHON) -m tasks app

test:
	@$(PYTHON) -m tasks test

bench:
	@$(PYTHON) -m tasks bench

# Each target is one line over `python -m`, so that it can be typed where there is no make.
PYTHON ?= python3

.PHONY: app test gpu-test bench

app:
	@$(PYTHON) -m tasks app

test:
	@$(PYTHON) -m tasks test

gpu-test:
	@$(PYTHON) -m tasks gpu-test

bench:
	@$(PYTHON) -m tasks bench

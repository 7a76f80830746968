"""The packages of a wheel: the assets lie beside the package, and inside it once installed."""

from setuptools import find_namespace_packages, setup

_CODE = find_namespace_packages(include=["tileviz*"])
_ASSETS = [f"tileviz.{name}" for name in find_namespace_packages(include=["assets*"])]

setup(packages=[*_CODE, *_ASSETS])

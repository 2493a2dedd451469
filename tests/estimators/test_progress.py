"""The notice of a first fit that has to compile."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from featurewright import compilation
from featurewright.estimators import progress


@contextmanager
def compile_many(on_compiled):
    for n_compiled in range(1, 50):
        on_compiled(n_compiled)
    yield


@pytest.mark.parametrize(("is_ready", "is_cached"), [(False, False), (True, True), (False, True)])
def test_a_first_fit_says_once_how_long_compiling_takes(is_ready, is_cached, monkeypatch, caplog):
    monkeypatch.setattr(progress, "counted_compilations", compile_many)
    kernel = SimpleNamespace(is_ready=is_ready, is_cached=is_cached)
    monkeypatch.setattr(progress, "grow_tree", kernel)
    with caplog.at_level(logging.WARNING, "featurewright"), progress.compilation_notice():
        pass
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == (not is_ready and not is_cached)
    assert all("compiling the engine, once after installing: about" in text for text in told)


def test_compiling_ahead_does_not_advise_to_compile_ahead(monkeypatch, caplog):
    def step():
        with progress.compilation_notice():
            pass

    monkeypatch.setattr(progress, "counted_compilations", compile_many)
    monkeypatch.setattr(progress, "grow_tree", SimpleNamespace(is_ready=False, is_cached=False))
    monkeypatch.setattr(compilation, "_steps", lambda: [step])
    with caplog.at_level(logging.WARNING, "featurewright"):
        compilation.compile_all()
        assert not caplog.records
        step()
    assert len(caplog.records) == 1

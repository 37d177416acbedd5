import numpy as np
import pytest

from treering.errors import InputError
from treering_bench.stats import bootstrap, paired_difference


def test_pairing_finds_a_small_steady_gain_that_the_spread_would_hide() -> None:
    rng = np.random.default_rng(0)
    old = rng.random(300)
    new = old + 0.01
    gain = paired_difference(new.tolist(), old.tolist())
    assert gain.verdict == "better"
    assert gain.mean == pytest.approx(0.01)
    assert bootstrap(new.tolist()).low < bootstrap(old.tolist()).high


def test_equal_runs_and_noise_show_no_difference() -> None:
    values = [0.0, 1.0, 0.5]
    assert paired_difference(values, values).verdict == "no difference"
    noise = np.random.default_rng(2).normal(0, 1, 100)
    assert (
        paired_difference((noise - noise.mean()).tolist(), [0.0] * 100).verdict == "no difference"
    )


def test_samples_that_cannot_be_resampled_are_refused() -> None:
    with pytest.raises(InputError, match="one or more finite"):
        bootstrap([])
    with pytest.raises(InputError, match="finite"):
        bootstrap([float("nan")])
    with pytest.raises(InputError, match="cannot pair 2 values with 1"):
        paired_difference([1.0, 2.0], [1.0])

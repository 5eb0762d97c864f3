"""herded_gibbs against joint distributions that are known by summation."""

import itertools

import numpy as np
import pytest
import supersample as ss


def spins(couplings, fields):
    """The conditional of an Ising model with values 0 and 1, and the probabilities of its states."""

    def up(i, state):
        return 1 / (1 + np.exp(-2 * (fields[i] + couplings[i] @ (2.0 * state - 1))))

    states = np.array(list(itertools.product([0, 1], repeat=len(fields))))
    signs = 2.0 * states - 1
    weights = np.exp(0.5 * np.einsum("si,ij,sj->s", signs, couplings, signs) + signs @ fields)
    return up, states, weights / weights.sum()


def model(count, seed):
    rng = np.random.default_rng(seed)
    couplings = np.tril(rng.normal(size=(count, count)) / np.sqrt(count), -1)
    return spins(couplings + couplings.T, 0.3 * rng.normal(size=count))


def variation(found, states, probabilities):
    shares = [(found == state).all(axis=1).mean() for state in states]
    return 0.5 * np.abs(np.array(shares) - probabilities).sum()


def test_states_have_the_joint_distribution():
    up, states, probabilities = model(4, 1)
    found = ss.herded_gibbs(up, np.zeros(4, dtype=int), 4000)
    assert found.shape == (4000, 4) and found.dtype == np.int64
    rng = np.random.default_rng(2)
    drawn, state = [], np.zeros(4, dtype=int)
    for _ in range(4000):
        for i in range(4):
            state[i] = rng.random() < up(i, state)
        drawn.append(state.copy())
    assert variation(found, states, probabilities) < 0.3 * variation(np.array(drawn), states, probabilities)


def test_one_number_is_the_probability_of_1_and_burn_in_is_left_out():
    up, *_ = model(3, 3)
    both = ss.herded_gibbs(lambda i, state: [1 - up(i, state), up(i, state)], [0, 1, 0], 30, seed=4)
    assert (ss.herded_gibbs(up, [0, 1, 0], 30, seed=4) == both).all()
    assert (ss.herded_gibbs(up, [0, 1, 0], 20, burn_in=10, seed=4) == both[10:]).all()
    assert not (ss.herded_gibbs(up, [0, 1, 0], 30, seed=5) == both).all()


def test_neighbours_of_a_chain():
    couplings = 0.4 * (np.eye(6, k=1) + np.eye(6, k=-1))
    up, states, probabilities = spins(couplings, np.linspace(-0.3, 0.2, 6))
    neighbours = [[j for j in (i - 1, i + 1) if 0 <= j < 6] for i in range(6)]
    found = ss.herded_gibbs(up, [0] * 6, 3000, neighbours=neighbours)
    assert np.abs(found.mean(axis=0) - probabilities @ states).max() < 0.01


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"conditional": 3}, "is of type int"),
        ({"conditional": lambda i, s: 1.5}, "variable 0 cannot be used: probabilities that are not negative"),
        ({"conditional": lambda i, s: [0.5, 0.4]}, "sum to 0.9"),
        ({"conditional": lambda i, s: np.nan}, "not negative"),
        ({"conditional": lambda i, s: "up"}, "return the probabilities"),
        ({"conditional": lambda i, s: [[0.5, 0.5]]}, "return the probabilities"),
        ({"start": []}, "start is not a list"),
        ({"start": [[0, 1]]}, "start is not a list"),
        ({"start": [0.5, 1.0]}, "start is not a list"),
        ({"start": [-1, 0]}, "start is not a list"),
        ({"n": 0}, "n is 0"),
        ({"neighbours": [[1]]}, "lists for 1 variables, but 2 variables"),
        ({"neighbours": [[1], [2]]}, "variable 1 of 2 .* has the neighbour 2"),
        ({"neighbours": [[0], []]}, "variable 0 of 2 .* has the neighbour 0"),
    ],
)
def test_wrong_input_is_refused(wrong, said):
    given = {"conditional": lambda i, s: 0.5, "start": [0, 1], "n": 5, **wrong}
    with pytest.raises((TypeError, ValueError), match=said):
        ss.herded_gibbs(**given)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, ZeroDivisionError])
def test_an_exception_of_the_conditional_ends_it(raised):
    def conditional(i, state):
        raise raised

    with pytest.raises(raised):
        ss.herded_gibbs(conditional, [0, 0], 5)

"""Tests of the methods of modules that have the same name in PyTorch."""

import numpy as np
import pytest

import seqloom as sl


def network(seed=0):
    layers = (sl.nn.Linear(3, 4), sl.nn.functional.relu, sl.nn.Linear(4, 2))
    return sl.nn.Sequential(*layers).bind("numpy", sl.Key(seed))


def test_a_state_dict_contains_copies_of_the_arrays():
    net = network()
    state, record = net.state_dict(), net.to_record()
    assert list(state) == list(record)
    for path, values in state.items():
        assert type(values) is np.ndarray
        np.testing.assert_array_equal(values, record[path])
        np.add(values, 1, out=values)  # this call must not change the module
    np.testing.assert_array_equal(net.to_record()["layers.0.bias"], record["layers.0.bias"])


def test_a_state_dict_loads_into_another_module():
    one, other = network(0), network(1)
    x = one.backend.tensor(np.ones((2, 3), "float32"))
    assert other.load_state_dict(one.state_dict()) is other
    np.testing.assert_array_equal(other(x).numpy(), one(x).numpy())


def test_a_state_dict_of_pytorch_tensors_is_accepted():
    torch = pytest.importorskip("torch")
    theirs = torch.nn.Linear(3, 2)
    ours = sl.nn.Linear(3, 2).bind("numpy", sl.Key(0))
    state = {path: value.detach() for path, value in theirs.state_dict().items()}
    ours.load_state_dict(state)
    x = np.ones((4, 3), "float32")
    wanted = theirs(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(ours(ours.backend.tensor(x)).numpy(), wanted, rtol=1e-5)


def test_a_state_dict_that_does_not_fit_names_the_missing_arrays():
    net = network()
    state = net.state_dict()
    del state["layers.2.bias"]
    with pytest.raises(sl.errors.RecordError, match=r"layers.2.bias is missing"):
        net.load_state_dict(state)


def test_named_parameters_returns_each_parameter_with_its_path():
    net = network()
    assert list(net.named_parameters()) == net.parameters()


def test_a_sequential_behaves_like_a_list_of_layers():
    net = network()
    assert len(net) == 3
    assert list(net) == net.layers
    assert net[0] is net.layers[0]
    assert net[-1] is net.layers[2]
    with pytest.raises(
        sl.errors.OutOfRangeError, match="layer 3 is out of range: Sequential has 3 layers"
    ):
        net[3]


def test_a_slice_of_a_sequential_contains_the_selected_layers():
    net = network()
    x = net.backend.tensor(np.ones((2, 3), "float32"))
    head = net[2:]
    assert isinstance(head, sl.nn.Sequential)
    np.testing.assert_array_equal(head(net[:2](x)).numpy(), net(x).numpy())


def test_an_empty_sequential_is_truthy():
    assert bool(sl.nn.Sequential())

import pytest

from icefield_train.launch_env import adopt, place_of


@pytest.mark.parametrize(
    "env",
    [
        {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"},
        {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1"},
        {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1"},
        {"PMIX_RANK": "3", "PMIX_SIZE": "4", "PMIX_LOCAL_RANK": "1"},
        {"SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_LOCALID": "1"},
    ],
)
def test_every_launcher_s_place_becomes_torch_s(env):
    env |= {"ICEFIELD_MASTER_ADDR": "10.0.0.1", "ICEFIELD_MASTER_PORT": "29500"}
    adopt(env)
    assert (env["RANK"], env["WORLD_SIZE"], env["LOCAL_RANK"]) == ("3", "4", "1")
    assert (env["MASTER_ADDR"], env["MASTER_PORT"]) == ("10.0.0.1", "29500")


def test_the_launcher_s_own_rendezvous_is_kept():
    env = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "10.0.0.9", "ICEFIELD_MASTER_ADDR": "10.0.0.1"}
    adopt(env)
    assert env["MASTER_ADDR"] == "10.0.0.9"


def test_a_process_on_its_own_is_the_only_rank():
    env = {}
    place = adopt(env)
    assert (place.rank, place.world_size) == (0, 1)
    assert env["RANK"] == "0"


@pytest.mark.parametrize("env", [{"RANK": "4", "WORLD_SIZE": "4"}, {"PMI_RANK": "x", "PMI_SIZE": "4"}])
def test_a_place_that_cannot_be_is_refused(env):
    with pytest.raises(ValueError, match="these make no rank"):
        place_of(env)

"""All servers of the benchmark, by name, in the order of the table."""
from ejabberd import Ejabberd
from elixir_shop import ElixirShop, Release
from rabbitmq import RabbitMQ, RabbitMQManagement
from yaws import Yaws

SERVERS = {s.name: s for s in (Yaws, RabbitMQ, RabbitMQManagement, ElixirShop, Release, Ejabberd)}


def packages(otp):
    """The packages of all servers on this OTP."""
    return sorted({p for s in SERVERS.values() for p in s.packages.get(otp, [])})

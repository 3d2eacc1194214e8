# A shop behind Cowboy, as small Elixir services are written: handlers for the routes, a controller and a view of functions, a
# repository that is a GenServer. SHOPEX_PORT is the port on 127.0.0.1.
defmodule Shopex do
  use Application

  def start(_type, _args) do
    {:ok, _} = listen(String.to_integer(System.fetch_env!("SHOPEX_PORT")))
    Supervisor.start_link([Shopex.Repo], strategy: :one_for_one)
  end

  defp listen(port) do
    routes = [
      {"/", Shopex.HomeHandler, []},
      {"/api/item/:id", Shopex.ItemHandler, []},
      {"/api/cart/:id", Shopex.CartHandler, []},
      {"/api/order", Shopex.OrderHandler, []}
    ]

    dispatch = :cowboy_router.compile([{:_, routes}])
    :cowboy.start_clear(:shopex, [ip: {127, 0, 0, 1}, port: port], %{env: %{dispatch: dispatch}})
  end
end

defmodule Shopex.Repo do
  use GenServer

  def start_link(_), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)
  def get(id), do: GenServer.call(__MODULE__, {:get, id})
  def order(text), do: GenServer.call(__MODULE__, {:order, text})

  @impl true
  def init(_), do: {:ok, 0}

  @impl true
  def handle_call({:get, id}, _from, orders), do: {:reply, row(id), orders}
  def handle_call({:order, text}, _from, orders), do: {:reply, {orders + 1, byte_size(text)}, orders + 1}

  defp row(id), do: %{id: id, name: Integer.to_string(:erlang.phash2(id), 36), price: id / 7}
end

defmodule Shopex.Controller do
  def show(id), do: Shopex.View.item(Shopex.Repo.get(id))
  def cart(id), do: Shopex.View.list(for n <- id..(id + 4), do: Shopex.Repo.get(n))
  def order(text), do: Shopex.View.receipt(Shopex.Repo.order(text))
end

defmodule Shopex.View do
  def item(row), do: "item #{row.id}: #{row.name}, #{:erlang.float_to_binary(row.price, decimals: 2)}\n"
  def list(rows), do: Enum.map_join(rows, &item/1)
  def receipt({number, bytes}), do: "order #{number}: #{bytes} bytes\n"
end

defmodule Shopex.Page do
  def reply(req, text, state), do: {:ok, :cowboy_req.reply(200, %{"content-type" => "text/plain"}, text, req), state}
  def id(req), do: String.to_integer(:cowboy_req.binding(:id, req))
end

defmodule Shopex.HomeHandler do
  def init(req, state), do: Shopex.Page.reply(req, "a shop\n", state)
end

defmodule Shopex.ItemHandler do
  def init(req, state), do: Shopex.Page.reply(req, Shopex.Controller.show(Shopex.Page.id(req)), state)
end

defmodule Shopex.CartHandler do
  def init(req, state), do: Shopex.Page.reply(req, Shopex.Controller.cart(Shopex.Page.id(req)), state)
end

defmodule Shopex.OrderHandler do
  def init(req, state) do
    {:ok, body, req} = :cowboy_req.read_body(req)
    Shopex.Page.reply(req, Shopex.Controller.order(body), state)
  end
end

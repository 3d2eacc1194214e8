defmodule Sample.Repo do
  def get(kind, id), do: Enum.reduce(1..10, {kind, id}, fn _, acc -> acc end)
  def exists?(id), do: id > 0
end

defmodule Sample.Web do
  # The identity is a string, as in any Elixir web application.
  def call(%{path: path}) do
    found = Sample.Repo.get(:user, byte_size(path))
    true = Sample.Repo.exists?(elem(found, 1))
    {:ok, found}
  end
end

defmodule Sample.Load do
  def run(k, paths) do
    for _ <- 1..k, path <- paths do
      {:ok, _} = Sample.Web.call(%{path: path})
    end

    k * length(paths)
  end
end

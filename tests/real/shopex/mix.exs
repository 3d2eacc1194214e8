defmodule Shopex.MixProject do
  use Mix.Project

  def project do
    [app: :shopex, version: "1.0.0", elixir: "~> 1.14", deps: [], releases: [shopex: [include_executables_for: [:unix]]]]
  end

  def application, do: [mod: {Shopex, []}, extra_applications: [:cowboy]]
end

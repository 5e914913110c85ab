# For nixpkgs: pkgs.callPackage ./contrib/nix/package.nix { }
#
# vendorHash changes with go.mod: the first build says what it has to be.
{ lib, buildGoModule, installShellFiles }:

buildGoModule (self: {
  pname = "qsniff";
  version = "0.1.0";
  src = lib.cleanSource ../..;
  vendorHash = lib.fakeHash;
  subPackages = [ "cmd/qsniff" ];
  env.CGO_ENABLED = 0;
  ldflags = [ "-s" "-w" "-X main.packaged=v${self.version}" ];
  doCheck = false; # make test takes git

  nativeBuildInputs = [ installShellFiles ];
  postInstall = ''
    installManPage docs/man/*.1
    for shell in bash zsh fish; do
      $out/bin/qsniff completion $shell > qsniff.$shell
    done
    installShellCompletion qsniff.{bash,zsh,fish}
    install -Dm644 LICENSE NOTICE -t $out/share/doc/qsniff
  '';

  meta = {
    description = "Decodes the query traffic of game servers, and finds floods of it";
    license = lib.licenses.mit;
    mainProgram = "qsniff";
  };
})

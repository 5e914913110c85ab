# Homebrew's formula. It takes the address of the repository in place of qsniff.invalid, in two lines. With the libpcap
# of the system, so that macOS has qsniff live.
class Qsniff < Formula
  desc "Decodes the query traffic of game servers, and finds floods of it"
  homepage "https://qsniff.invalid/qsniff"
  url "https://qsniff.invalid/qsniff.git", tag: "v0.1.0"
  license "MIT"

  depends_on "go" => :build
  uses_from_macos "libpcap"

  def install
    ENV["CGO_ENABLED"] = "1"
    system "go", "build", *std_go_args(ldflags: "-s -w -X main.packaged=v#{version}"), "./cmd/qsniff"
    man1.install Dir["docs/man/*.1"]
    generate_completions_from_executable(bin/"qsniff", "completion")
    doc.install "NOTICE"
  end

  test do
    assert_match "qsniff v#{version}", shell_output("#{bin}/qsniff version")
    assert_match "S2C_CHALLENGE", shell_output("#{bin}/qsniff decode '\\xff\\xff\\xff\\xffA\\x4b\\xa1\\xd5\\x22'")
  end
end

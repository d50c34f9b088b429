// A dump is written to a folder of its own, read, loaded and run with little time and memory.
#include "tests/fuzz/device_target.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/backends/make_platform.h"
#include "core/dump/dump_model.h"
#include "core/replay/platform.h"

namespace hloscope::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "==== ";
constexpr size_t kMaxFiles = 64;
constexpr int64_t kMemory = 64 << 20;  // bytes
constexpr std::chrono::milliseconds kDeadline{200};

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "hloscope-device-XXXXXX").string();
    path_ = mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The files of a dump; names that would lie elsewhere are left out.
void Write(std::string_view input, const fs::path& folder) {
  for (size_t files = 0; files < kMaxFiles && input.starts_with(kMark); ++files) {
    const size_t line = input.find('\n');
    if (line == std::string_view::npos) return;
    const std::string name(input.substr(kMark.size(), line - kMark.size()));
    const size_t next = input.find("\n" + std::string(kMark), line);
    const std::string_view text = input.substr(line + 1, next - line);
    const bool is_plain = !name.empty() && name.size() < 200 &&
                          name.find_first_of(std::string_view("/\0", 2)) == std::string::npos &&
                          name != "." && name != "..";
    if (is_plain) std::ofstream(folder / name, std::ios::binary) << text;
    if (next == std::string_view::npos) return;
    input.remove_prefix(next + 1);
  }
}

void Check(const Status& status) {
  if (status.has_value() || !status.error().message.empty()) return;
  std::fprintf(stderr, "oracle broken: an error without a message\n");
  std::abort();
}

class Ignored : public replay::RunStream {
 public:
  void Take(replay::RunEvent) override {}
};

Status RunDump(const fs::path& folder) {
  Limits limits;
  limits.devices = 8;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto dump, dump::DumpModel::Open(folder.string(), limits));
  if (dump->modules().empty()) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(const auto module, dump->Module(0, dump->FinalStage(0)));
  replay::RunOptions options;
  options.limits = limits;
  options.load.module_file = dump->FullPath(dump->ModuleFile(0, dump->FinalStage(0)));
  options.budget.memory_bytes = kMemory;
  options.budget.threads = 1;
  options.budget.deadline = std::chrono::steady_clock::now() + kDeadline;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto platform,
                            replay::MakePlatform(replay::PlatformWith(replay::kRunsDumps)->name));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto executable, platform->Load(module, options));
  std::vector<hlo::Literal> zeros;
  for (const hlo::Shape& parameter : replay::ParameterShapes(*module)) {
    for (const hlo::Shape* shape : parameter.LeafShapes()) {
      const auto bytes = shape->ByteSize();
      if (!bytes || *bytes > kMemory) return {};
      zeros.push_back(shape->IsArray()
                          ? hlo::Literal::Dense(shape->WithoutLayouts(),
                                                std::vector<std::byte>(static_cast<size_t>(*bytes)))
                          : hlo::Literal::Token());
    }
  }
  const auto devices =
      static_cast<size_t>(hlo::TopologyOf(*module, limits.devices).counts.devices());
  Ignored stream;
  const auto run = executable->Run(std::vector(devices, zeros), options, stream);
  if (!run.has_value()) return std::unexpected(run.error());
  return {};
}

}  // namespace

std::string DeviceSeed(std::string_view file) {
  return file.starts_with(kMark) ? std::string(file) : std::string();
}

void FuzzDevice(std::string_view input) {
  const Folder folder;
  if (folder.path().empty()) return;
  Write(input, folder.path());
  Check(RunDump(folder.path()));
}

}  // namespace hloscope::fuzz

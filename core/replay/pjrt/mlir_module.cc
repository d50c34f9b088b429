// Having a plugin translate MLIR, and finding the module in what it dumps.
#include "core/replay/pjrt/mlir_module.h"

#include <stdlib.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

#include "core/base/file.h"
#include "core/replay/pjrt/xla_compile.h"
#include "core/replay/plugins/plugins.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

// A new folder, removed with all that is in it.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Make() {
    std::error_code code;
    std::string path = (fs::temp_directory_path(code) / "hloscope-mlir-XXXXXX").string();
    if (code || mkdtemp(path.data()) == nullptr) {
      return EnvironmentError("cannot create a temporary folder",
                              "set TMPDIR to a writable folder");
    }
    return ScratchFolder(std::move(path));
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code code;
    if (!path_.empty()) fs::remove_all(path_, code);
  }
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// "mhlo.num_partitions = 4 : i32" of the module; 1 where it does not say. Bytecode does not in
// words.
int64_t CountIn(std::string_view code, std::string_view name) {
  const size_t at = code.find(name);
  if (at == std::string_view::npos) return 1;
  const size_t digit = code.find_first_not_of(" =", at + name.size());
  int64_t count = 1;
  if (digit != std::string_view::npos) {
    std::from_chars(code.data() + digit, code.data() + code.size(), count);
  }
  constexpr int64_t kMost = 1024;
  return count >= 1 && count <= kMost ? count : 1;
}

// The path of the module before all passes; empty where none was dumped.
std::string BeforeOptimizations(const std::string& folder) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".before_optimizations.hlo.pb")) return entry.path().string();
  }
  return {};
}

}  // namespace

Result<hlo::ProtoFile> TranslateMlir(std::string_view code, const Limits& limits,
                                     const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const PluginFile plugin, ResolvePlugin("xla-cpu", {}));
  HLOSCOPE_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  XlaCompileRequest request;
  request.plugin = plugin.path;
  request.module = code;
  request.format = "mlir";
  request.dump = folder.path();
  request.flags = {{"xla_dump_hlo_as_proto", "true"}};
  request.replicas = CountIn(code, "mhlo.num_replicas");
  request.partitions = CountIn(code, "mhlo.num_partitions");
  const auto compiled =
      CompileWithXla(request, std::chrono::seconds(limits.run_deadline_seconds), stop);
  // What cannot be compiled may have been translated all the same.
  const std::string path = BeforeOptimizations(folder.path());
  if (path.empty() && !compiled.has_value()) return std::unexpected(compiled.error());
  if (path.empty()) return InternalError("the plugin dumped no module before optimizations");
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  return hlo::ReadProto(std::as_bytes(std::span(file.bytes())), limits,
                        std::make_shared<FileView>(file));
}

}  // namespace hloscope::replay

#include "core/backends/pjrt/dump_folder.h"

#include <filesystem>

#include "core/backends/pjrt/xla_compile.h"
#include "core/base/file.h"
#include "core/replay/new_dump.h"

namespace hloscope::replay {

namespace fs = std::filesystem;

Result<std::string> DumpFolder(const CompileModuleRequest& request,
                               std::optional<ScratchFolder>& scratch) {
  if (!request.dump.empty()) return MakeDumpFolder(request.dump);
  if (!request.optimized_module) return std::string();
  HLOSCOPE_ASSIGN_OR_RETURN(ScratchFolder made, ScratchFolder::Make());
  scratch.emplace(std::move(made));
  return scratch->path();
}

void AddFlags(const CompileModuleRequest& request, Devices devices, pjrt::XlaFlags& flags) {
  if (!request.dump.empty()) {
    const pjrt::XlaFlags more = DumpFlags(devices, request.passes);
    flags.insert(flags.end(), more.begin(), more.end());
  }
  for (const auto& flag : request.options.platform.xla_flags) {
    std::erase_if(flags, [&](const auto& ours) { return ours.first == flag.first; });
    flags.push_back(flag);
  }
}

std::string FileEndingIn(const std::string& folder, std::string_view ending) {
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    if (entry.path().filename().string().ends_with(ending)) return entry.path().string();
  }
  return {};
}

std::string DumpedModule(const std::string& folder, const Limits& limits) {
  const std::string path = FileEndingIn(folder, "_after_optimizations.hlo.pb");
  if (path.empty()) return {};
  const auto file = FileView::Open(path, limits);
  return file.has_value() ? std::string(file->bytes()) : std::string();
}

void CountFiles(const std::string& folder, CompileModuleReport& report) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    ++report.dump_files;
    report.dump_bytes += static_cast<int64_t>(it->file_size(error));
  }
}

}  // namespace hloscope::replay

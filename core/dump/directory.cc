// Scanning a dump directory.
#include "core/dump/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "core/base/file.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;
constexpr size_t kHeadBytes = 4096;

// The kind of a regular file from its first bytes; protos and packed files are read whole.
FileKind SniffFile(const std::string& path, int64_t bytes, const Limits& limits) {
  std::string head(std::min<size_t>(kHeadBytes, static_cast<size_t>(bytes)), '\0');
  std::ifstream in(path, std::ios::binary);
  if (!in.read(head.data(), static_cast<std::streamsize>(head.size()))) return FileKind::kUnknown;
  bool packed = head.starts_with("\x1f\x8b");
  FileKind kind =
      packed ? FileKind::kUnknown : Sniff(head, head.size() == static_cast<size_t>(bytes));
  if (kind != FileKind::kUnknown && kind != FileKind::kText) return kind;
  bool may_be_proto = path.ends_with(".pb") || path.ends_with(".pb.gz");
  if (!packed && !may_be_proto) return kind;
  Result<FileView> file = FileView::Open(path, limits);
  return file ? Sniff(file->bytes()) : kind;
}

struct ModuleKey {
  std::string folder, timestamp;
  int64_t id;
  std::string name;
  auto operator<=>(const ModuleKey&) const = default;
};

void AddToStage(DumpModule& module, std::string_view name, DumpFile file) {
  auto at = std::ranges::find(module.stages, name, &Stage::name);
  if (at == module.stages.end()) at = module.stages.insert(at, Stage{std::string(name), {}});
  at->files.push_back(std::move(file));
}

// Adds one file to the module its name says, or by itself.
void Place(Dump& dump, std::map<ModuleKey, DumpModule>& modules, const fs::path& path,
           DumpFile file) {
  std::string name = path.filename().string(), folder = path.parent_path().string();
  std::optional<DumpFileName> parsed = ParseDumpFileName(name);
  if (!parsed) {
    if (!IsModuleKind(file.kind)) {
      dump.loose.push_back(std::move(file));
      return;
    }
    std::string stem = name.substr(0, name.find('.'));
    DumpModule& module = modules[{folder, "", -1, stem}];
    module.name = stem;
    AddToStage(module, name.substr(std::min(name.size(), stem.size() + 1)), std::move(file));
    return;
  }
  DumpModule& module = modules[{folder, parsed->timestamp, parsed->id, parsed->module}];
  module.id = parsed->id;
  module.name = parsed->module;
  module.timestamp = parsed->timestamp;
  if (!parsed->stage.empty() && IsModuleKind(file.kind)) {
    AddToStage(module, parsed->stage, std::move(file));
  } else {
    module.others.push_back(std::move(file));
  }
}

}  // namespace

const DumpFile* Stage::Preferred() const {
  const DumpFile* best = nullptr;
  for (const DumpFile& file : files) {
    if (file.kind == FileKind::kHloProto) return &file;
    if (IsModuleKind(file.kind) && best == nullptr) best = &file;
  }
  return best;
}

const Stage* DumpModule::Find(std::string_view stage) const {
  auto at = std::ranges::find(stages, stage, &Stage::name);
  return at == stages.end() ? nullptr : &*at;
}

Result<Dump> ScanDump(const std::string& path, const Limits& limits) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return InputError(path + ": not a directory");
  std::vector<fs::path> paths;
  Dump dump{path, {}, {}, {}};
  auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(path, options, error), end; !error && it != end;
       it.increment(error)) {
    if (static_cast<int64_t>(paths.size()) >= limits.directory_entries) {
      return InputError(fmt::format("{}: more than {} files", path, limits.directory_entries),
                        "raise --limit directory-entries, or name a sub-folder");
    }
    std::error_code ignored;
    if (it->is_symlink(ignored) || it->is_directory(ignored)) continue;
    if (!it->is_regular_file(ignored)) {
      dump.warnings.push_back(it->path().string() + ": skipped, not a regular file");
      continue;
    }
    paths.push_back(it->path());
  }
  if (error) return EnvironmentError(fmt::format("{}: {}", path, error.message()));
  std::ranges::sort(paths);
  std::map<ModuleKey, DumpModule> modules;
  for (const fs::path& p : paths) {
    std::error_code gone;
    auto bytes = static_cast<int64_t>(fs::file_size(p, gone));
    if (gone) {
      dump.warnings.push_back(p.string() + ": skipped, " + gone.message());
      continue;
    }
    Place(dump, modules, p, {p.string(), SniffFile(p.string(), bytes, limits), bytes});
  }
  for (auto& [key, module] : modules) {
    std::ranges::stable_sort(module.stages, {},
                             [](const Stage& s) { return std::tuple(StageRank(s.name), s.name); });
    dump.modules.push_back(std::move(module));
  }
  std::ranges::stable_sort(dump.modules, {},
                           [](const DumpModule& m) { return std::tuple(m.timestamp, m.id); });
  return dump;
}

}  // namespace hloscope::dump

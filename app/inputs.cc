// Expanding directories and reporting what is wrong with files.
#include "app/inputs.h"

#include <fmt/format.h>

#include <set>

#include "app/fail.h"
#include "app/output.h"
#include "core/base/format_text.h"
#include "core/dump/container.h"
#include "core/dump/listing/file_role.h"

namespace hloscope::app {

int ExpandedPaths::ReportFailed(std::string_view key, const Context& context) const {
  int status = kGood;
  for (const auto& [path, error] : failed) {
    status = Worse(status, Fail({{key, path}}, error, context));
  }
  return status;
}

namespace {

// The file itself, or where it holds several modules each of them.
std::vector<std::string> ModulesInFile(const std::string& path, const Limits& limits) {
  const auto file = dump::OpenInput(path, limits);
  if (!file) return {path};  // who reads it says so
  const dump::ModuleParts found = dump::FindModulesIn(file->bytes(), limits);
  if (found.parts.size() < 2) return {path};
  std::vector<std::string> files;
  for (const dump::ModulePart& part : found.parts)
    files.push_back(fmt::format("{}:{}", path, part.selector));
  return files;
}

}  // namespace

std::string HintWithoutModules(const std::string& path, const dump::DumpModel& model) {
  const bool is_folder = dump::IsFolder(path);
  bool has_profile = false;
  std::string with_modules;  // of XLA's own profiles; others have none
  for (const dump::FileEntry& file : model.files()) {
    if (IsArchiveName(file.path) && dump::IsArchive(path))
      return fmt::format("{} in it is an archive itself: unpack it first", file.path);
    if (IsArchiveName(file.path))
      return fmt::format("{}/{} is an archive: name it", path, file.path);
    if (dump::IsProgramKind(file.kind))
      return fmt::format("{} is StableHLO, which `hloscope run` and `hloscope convert` translate",
                         file.path);
    if (file.role != dump::FileRole::kTrace) continue;
    has_profile = true;
    if (with_modules.empty() && dump::BareFileName(file.path).ends_with(".xplane.pb"))
      with_modules = file.path;
  }
  if (is_folder && !with_modules.empty())
    return fmt::format("{}/{} is a profile, which may carry modules: name it", path, with_modules);
  if (has_profile)
    return "no module was found in this profile: name the dump of the program, or a module";
  return is_folder ? "`hloscope info` shows what it contains" : "";
}

ExpandedPaths ExpandDirectories(const std::vector<std::string>& paths, const Limits& limits,
                                const FilesIn& files_in, std::string_view none) {
  ExpandedPaths expanded;
  for (const std::string& path : paths) {
    if (!dump::IsFolder(path)) {
      for (std::string& file : ModulesInFile(path, limits))
        expanded.files.push_back(std::move(file));
      continue;
    }
    const auto model = dump::DumpModel::Open(path, limits);
    if (!model) {
      expanded.failed.emplace_back(path, model.error());
      continue;
    }
    const std::vector<std::string> files = files_in(**model);
    expanded.files.insert(expanded.files.end(), files.begin(), files.end());
    if (!files.empty()) continue;
    expanded.failed.emplace_back(
        path,
        InputError(fmt::format("{}: {}", path, none), HintWithoutModules(path, **model)).error());
  }
  return expanded;
}

std::vector<std::string> ModuleFilesIn(const dump::DumpModel& model) {
  std::vector<std::string> files;
  for (size_t k = 0; k < model.files().size(); ++k) {
    const dump::FileEntry& file = model.files()[k];
    // A file that is called a module and cannot be read is not left out.
    const bool may_be_module = dump::IsModuleKind(file.kind) ||
                               file.kind == dump::FileKind::kUnknown ||
                               file.kind == dump::FileKind::kText;
    if (dump::RowOf(file.role).reader == "Module" && may_be_module)
      files.push_back(model.FullPath(static_cast<int32_t>(k)));
  }
  return files;
}

std::vector<std::string> StageFilesIn(const dump::DumpModel& model) {
  std::set<std::string> others;  // the text of a stage whose proto is read
  for (size_t m = 0; m < model.modules().size(); ++m) {
    const std::vector<dump::StageEntry>& stages = model.modules()[m].stages;
    for (size_t s = 0; s < stages.size(); ++s) {
      const int32_t read = model.ModuleFile(static_cast<int32_t>(m), static_cast<int32_t>(s));
      for (const int32_t file : stages[s].files) {
        if (read >= 0 && file != read) others.insert(model.FullPath(file));
      }
    }
  }
  std::vector<std::string> files = ModuleFilesIn(model);
  std::erase_if(files, [&](const std::string& file) { return others.contains(file); });
  return files;
}

std::string ProblemLines(const dump::LoadedModule& loaded,
                         const std::vector<hlo::Diagnostic>& diagnostics) {
  std::string lines;
  dump::Places places(loaded);
  for (const hlo::Diagnostic& d : diagnostics) {
    std::string_view severity = d.severity == hlo::Severity::kError ? "" : "warning: ";
    lines += FormatText("{}: {}{} [{}]", places.Of(d).ToString(), severity, d.message, d.rule);
    if (!d.hint.empty()) lines += FormatText(" ({})", d.hint);
    lines += '\n';
  }
  return lines;
}

bool PrintReadErrors(const dump::LoadedModule& loaded) {
  if (loaded.module != nullptr) return false;
  std::string lines = ProblemLines(loaded, loaded.diagnostics);
  if (lines.ends_with('\n')) lines.pop_back();
  PrintError(OwnLines(lines));
  return true;
}

void OrderedOutput::Put(size_t index, std::string text) {
  std::lock_guard lock(mutex_);
  waiting_.emplace(index, std::move(text));
  for (auto it = waiting_.find(next_); it != waiting_.end(); it = waiting_.find(next_)) {
    WriteOut(it->second);
    waiting_.erase(it);
    ++next_;
  }
}

}  // namespace hloscope::app

#include "core/dump/stage_files.h"

#include <algorithm>

namespace hloscope::dump {
namespace {

bool HoldsModule(const FileEntry& file) {
  const bool by_role =
      RowOf(file.role).reader == "Module" || file.role == FileRole::kUnoptimizedSnapshot;
  return by_role && IsModuleKind(file.kind);
}

// Protos first; a snapshot from before optimization is only read where there is nothing else.
int PreferenceOf(const FileEntry& file) {
  if (file.role == FileRole::kUnoptimizedSnapshot) return 2;
  return file.kind == FileKind::kHloProto ? 0 : 1;
}

}  // namespace

int32_t FirstModuleFile(const DumpModel& model, int32_t module, int32_t stage) {
  const ModuleEntry& entry = model.modules()[static_cast<size_t>(module)];
  int32_t first = -1;
  int best = 0;
  for (const int32_t k : entry.stages[static_cast<size_t>(stage)].files) {
    const FileEntry& file = model.files()[static_cast<size_t>(k)];
    if (!HoldsModule(file) || (first >= 0 && PreferenceOf(file) >= best)) continue;
    first = k;
    best = PreferenceOf(file);
  }
  return first;
}

std::vector<int32_t> ModuleFiles(const DumpModel& model, int32_t module, int32_t stage) {
  const auto file_of = [&](int32_t k) -> const FileEntry& {
    return model.files()[static_cast<size_t>(k)];
  };
  const ModuleEntry& entry = model.modules()[static_cast<size_t>(module)];
  std::vector<int32_t> files;
  for (const int32_t k : entry.stages[static_cast<size_t>(stage)].files) {
    if (HoldsModule(file_of(k))) files.push_back(k);
  }
  std::ranges::stable_sort(files, {}, [&](int32_t k) { return PreferenceOf(file_of(k)); });
  return files;
}

}  // namespace hloscope::dump

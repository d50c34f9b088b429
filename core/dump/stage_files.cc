#include "core/dump/stage_files.h"

#include <algorithm>

namespace hloscope::dump {
namespace {

bool HoldsModule(const FileEntry& file) {
  const bool by_role =
      RowOf(file.role).reader == "Module" || file.role == FileRole::kUnoptimizedSnapshot;
  return by_role && IsModuleKind(file.kind);
}

}  // namespace

std::vector<int32_t> ModuleFiles(const DumpModel& model, int32_t module, int32_t stage) {
  const auto file_of = [&](int32_t k) -> const FileEntry& {
    return model.files()[static_cast<size_t>(k)];
  };
  const ModuleEntry& entry = model.modules()[static_cast<size_t>(module)];
  std::vector<int32_t> files;
  for (const int32_t k : entry.stages[static_cast<size_t>(stage)].files) {
    if (HoldsModule(file_of(k))) files.push_back(k);
  }
  std::ranges::stable_sort(files, {}, [&](int32_t k) {
    if (file_of(k).role == FileRole::kUnoptimizedSnapshot) return 2;
    return file_of(k).kind == FileKind::kHloProto ? 0 : 1;
  });
  return files;
}

}  // namespace hloscope::dump

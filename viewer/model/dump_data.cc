// Each file and module is read once.
#include "viewer/model/dump_data.h"

#include "core/analysis/align/alignment.h"
#include "viewer/model/document.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

struct FileKey {
  using Value = FileView;
  int32_t file = -1;
  auto operator<=>(const FileKey&) const = default;
};

struct ChangesKey {
  using Value = analysis::PassChanges;
  int32_t module = -1, stage = -1;
  analysis::Annotations annotations = analysis::Annotations::kCounted;
  auto operator<=>(const ChangesKey&) const = default;
};

Computed<analysis::PassChanges> FindChanges(const analysis::Provenance* provenance, int32_t stage,
                                            analysis::Annotations annotations) {
  if (provenance == nullptr) return InputError("no such module");
  const analysis::Lineage& lineage = provenance->lineage();
  const int32_t earlier = lineage.Neighbour(stage, -1);
  if (earlier < 0) return InputError("the first stage has no previous stage");
  HLOSCOPE_ASSIGN_OR_RETURN(auto before, lineage.Module(earlier));
  HLOSCOPE_ASSIGN_OR_RETURN(auto after, lineage.Module(stage));
  HLOSCOPE_ASSIGN_OR_RETURN(auto alignment, lineage.Step(earlier));
  return std::make_shared<const analysis::PassChanges>(
      analysis::FindChanges(*before, *after, *alignment, annotations));
}

}  // namespace

const Pending<hlo::Module>& DumpData::Module(int32_t module, int32_t stage) {
  return cache_.Get(PartKey<hlo::Module>{module, stage}, "loading the module",
                    [dump = document_.dump().value, module, stage](TaskControl&) {
                      return dump->Module(module, stage);
                    });
}

const Pending<dump::KernelTable>& DumpData::Kernels(int32_t module) {
  return cache_.Get(
      PartKey<dump::KernelTable>{module}, "loading kernels",
      [dump = document_.dump().value, module](TaskControl&) { return dump->Kernels(module); });
}

const Pending<dump::ThunkSequence>& DumpData::Thunks(int32_t module) {
  return cache_.Get(
      PartKey<dump::ThunkSequence>{module}, "loading thunks",
      [dump = document_.dump().value, module](TaskControl&) { return dump->Thunks(module); });
}

const Pending<dump::BufferTable>& DumpData::Buffers(int32_t module) {
  return cache_.Get(
      PartKey<dump::BufferTable>{module}, "loading buffers",
      [dump = document_.dump().value, module](TaskControl&) { return dump->Buffers(module); });
}

const Pending<FileView>& DumpData::File(int32_t file) {
  return cache_.Get(FileKey{file}, "loading a file",
                    [dump = document_.dump().value, file](TaskControl&) -> Computed<FileView> {
                      HLOSCOPE_ASSIGN_OR_RETURN(FileView view, dump->OpenFile(file));
                      return std::make_shared<const FileView>(std::move(view));
                    });
}

const Pending<analysis::PassChanges>& DumpData::Changes(int32_t module, int32_t stage,
                                                        analysis::Annotations annotations) {
  return cache_.Get(ChangesKey{module, stage, annotations}, "comparing two stages",
                    [provenance = Provenance(module), stage, annotations](TaskControl&) {
                      return FindChanges(provenance.get(), stage, annotations);
                    });
}

std::shared_ptr<const analysis::Provenance> DumpData::Provenance(int32_t module) {
  if (!document_.dump().ready() || module < 0) return nullptr;
  auto& known = provenances_[module];
  if (known == nullptr)
    known = std::make_shared<const analysis::Provenance>(document_.dump().value, module);
  return known;
}

}  // namespace hloscope::viewer

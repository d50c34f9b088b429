// DumpData: what is read of the dump that is open, on first asking, in the background.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "core/analysis/align/pass_changes.h"
#include "core/analysis/align/provenance.h"
#include "core/base/file.h"
#include "core/dump/dump_model.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

class Document;
class TaskCache;

class DumpData {
 public:
  DumpData(const Document& document, TaskCache& cache) : document_(document), cache_(cache) {}

  // The first call starts the work; ask again in every frame. References hold until another dump is
  // opened.
  const Pending<hlo::Module>& Module(int32_t module, int32_t stage);
  const Pending<dump::KernelTable>& Kernels(int32_t module);
  const Pending<dump::ThunkSequence>& Thunks(int32_t module);
  const Pending<dump::BufferTable>& Buffers(int32_t module);
  const Pending<FileView>& File(int32_t file);
  // What was done since the stage before (the nearest that can be read); fails for the first.
  const Pending<analysis::PassChanges>& Changes(
      int32_t module, int32_t stage,
      analysis::Annotations annotations = analysis::Annotations::kCounted);
  // Shared by all who ask; its functions are slow: call them in the background.
  std::shared_ptr<const analysis::Provenance> Provenance(int32_t module);
  void Clear() { provenances_.clear(); }

 private:
  const Document& document_;
  TaskCache& cache_;
  std::map<int32_t, std::shared_ptr<const analysis::Provenance>> provenances_;
};

}  // namespace hloscope::viewer

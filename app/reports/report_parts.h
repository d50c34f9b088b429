// What a report says of each module, kept so that a change of one file costs one module.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/place/placement.h"
#include "core/dump/dump_model.h"
#include "core/dump/listing/head_table.h"

namespace hloscope::app {

struct ModulePart {
  std::string text;       // a JSON object, or lines
  std::string transfers;  // JSON objects with commas between
  std::array<int64_t, analysis::kPlaceCount> counts = {};
  int64_t bytes = 0, unknown_transfers = 0;
  // Of the last stage, and of its buffers; -1 where it is unknown.
  int64_t stages = 0, instructions = -1, memory_bytes = -1, peak_bytes = -1;
};

// The heads of files and the parts of modules, by what they were made of.
class ReportParts {
 public:
  // Null where no module that is the same in name, stages and files is known.
  const ModulePart* Find(const dump::FileKey& key) const;
  void Add(const dump::FileKey& key, ModulePart part) { parts_[key] = std::move(part); }

  std::string Pack(const dump::HeadTable& heads) const;
  // Nullopt where `bytes` hold none.
  static std::optional<ReportParts> Unpack(std::string_view bytes);
  const std::shared_ptr<const dump::HeadTable>& heads() const { return heads_; }

 private:
  std::map<dump::FileKey, ModulePart> parts_;
  std::shared_ptr<const dump::HeadTable> heads_;
};

// What a module was made of: itself and its files, whose keys are given by file.
dump::FileKey KeyOfModule(const dump::DumpModel& model, size_t module,
                          const std::vector<dump::FileKey>& files);

}  // namespace hloscope::app

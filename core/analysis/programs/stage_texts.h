// The texts of a stage next to its proto, which is the one that is read: an edit of a text would go
// unnoticed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/analysis/programs/dump_programs.h"
#include "core/dump/dump_model.h"

namespace hloscope::analysis {

struct StageTexts {
  // "f.txt: differs from f.hlo.pb, which is used: add.1 in main: …", paths as in the dump; also of
  // texts that cannot be read.
  std::vector<std::string> notes;
  uint64_t programs = 0;  // a hash of the texts whose program is another; 0: there is none
};
StageTexts CompareStageTexts(const dump::DumpModel& model, int32_t module, int32_t stage,
                             ProgramReader& reader);

}  // namespace hloscope::analysis

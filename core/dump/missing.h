// What a dump does not hold, and the flag that would have written it.
#pragma once

#include <string>
#include <vector>

namespace hloscope::dump {

struct MissingPiece {
  int module = -1;   // of DumpModel::modules(); -1: the whole dump
  std::string what;  // "passes", "PTX", …
  std::string why;   // in words
  std::string flag;  // "--xla_dump_hlo_pass_re=.*"; empty where no flag would have helped
  std::string module_name =
      {};  // of `module`, as in its files where several have it; empty for the whole dump
  // "no passes: … (add --xla_dump_hlo_pass_re=.*)"
  std::string ToString() const;
};

class DumpModel;
// What the index of `model` lacks, the whole dump first, then module by module.
std::vector<MissingPiece> FindMissing(const DumpModel& model);

}  // namespace hloscope::dump

// RunRecord: how the program was run that left a dump, as `hloscope record` writes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/errors/keras_steps.h"

namespace hloscope::dump {

inline constexpr const char* kRecordFile = "hloscope-record.json";

struct RunRecord {
  std::string folder;              // of the dump that it is in, empty for the dump itself
  std::string framework, version;  // "TensorFlow", "2.21.0"
  int32_t file = -1;               // of DumpModel::files()
  int exit = 0;
  // What PyTorch/XLA ran on the host, and how often: "aten::histc", 2.
  std::map<std::string, int64_t, std::less<>> host_fallbacks;
  std::vector<KerasStep> keras_steps;  // that no jit_compile compiles
  std::map<std::string, std::string, std::less<>> packages, environment;
  std::map<std::string, std::string, std::less<>> xla;  // "xla_client": "467", "jaxlib_commit": …

  // The value that the variable had; empty: unset, or not recorded.
  std::string_view Variable(std::string_view name) const;
  // The value of the last flag `--name` in the variable; a flag alone is "true".
  std::optional<std::string> Flag(std::string_view variable, std::string_view name) const;
};

struct RunRecords {
  std::vector<RunRecord> list;
  std::vector<std::string> warnings;  // records that could not be read
  // That of the innermost folder around this one; null: there is none.
  const RunRecord* For(std::string_view folder) const;
};

// Whether one folder of a dump is the other, or inside it.
bool IsInFolder(std::string_view folder, std::string_view outer);

class DumpModel;
RunRecords ReadRunRecords(const DumpModel& model);

}  // namespace hloscope::dump

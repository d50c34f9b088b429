// Autotune results of XLA:GPU as text protos: AutotuneResults (what was chosen, of every version),
// AutotuningLogs (every candidate with its time), the cache of the newer format (AutotuneCache) and
// its profiles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dump/readers/text_proto.h"

namespace hloscope::dump {

// "triton block_k=16 block_m=64": the kind and the fields that are set, sorted by name.
struct AutotuneConfig {
  std::string kind;
  std::vector<std::pair<std::string, std::string>> fields;
  bool empty() const { return kind.empty() && fields.empty(); }
  bool operator==(const AutotuneConfig&) const = default;
};
std::string ToString(const AutotuneConfig& config);
// Sorts the fields and drops those that are 0, empty or false.
void Normalize(AutotuneConfig& config);

struct AutotuneCandidate {
  AutotuneConfig config;
  std::optional<double> time_us;
};

struct AutotuneRecord {
  std::string device;
  std::string hlo;          // the instruction or computation, printed canonically; may be empty
  std::string fingerprint;  // where the record has that instead
  std::string name;         // of the instruction, where the record has one
  AutotuneCandidate chosen;
  std::optional<AutotuneCandidate> runner_up;  // only of logs
  std::optional<int64_t> version;              // a record counts in its own version of XLA only
  int64_t candidates = 1, failed = 0;
};

struct AutotuneRecords {
  std::string format;  // "AutotuneResults", …; empty: the text is none of them
  std::vector<AutotuneRecord> records;
  std::string why;  // where the text breaks off; empty: it does not
};
AutotuneRecords ReadAutotuneRecords(std::string_view text);

}  // namespace hloscope::dump

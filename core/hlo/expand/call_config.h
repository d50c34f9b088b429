// CallConfig: the backend_config of a custom call, whichever of its spellings a compiler chose.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/expand/call_site.h"
#include "core/hlo/module.h"

namespace hloscope::hlo::expand {

// JSON of GpuBackendConfig ({"gemm_backend_config":{…}}), the plain message of older compilers
// ({"alpha_real":1,…}), JSON without quotes, and the attribute dictionary of typed FFI calls
// ({uplo = 76 : ui8}), as one tree of named values. A text of another kind is the value of the name
// "opaque". Names that are absent answer as asked.
class CallConfig {
 public:
  // An input error where the text is none of these; an empty config where there is none.
  static Result<CallConfig> Of(const Module& module, InstructionId id);
  static Result<CallConfig> Of(const CallSite& call);
  static Result<CallConfig> Parse(std::string_view text);

  // The object under `name`; this one where there is none (the plain spelling).
  const CallConfig& Section(std::string_view name) const;
  // Null where there is none.
  const CallConfig* Find(std::string_view name) const;

  bool empty() const { return members_.empty() && list_.empty(); }
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  double Number(std::string_view name, double absent) const;
  int64_t Integer(std::string_view name, int64_t absent) const;
  bool Flag(std::string_view name, bool absent = false) const;
  std::string_view Text(std::string_view name) const;
  // The elements of a list; empty where there is none.
  std::vector<int64_t> Integers(std::string_view name) const;
  std::vector<double> Numbers(std::string_view name) const;
  std::vector<std::string_view> Texts(std::string_view name) const;

 private:
  friend class ConfigReader;
  std::string text_;  // of a number, a word or a string
  std::map<std::string, CallConfig, std::less<>> members_;
  std::vector<CallConfig> list_;
};

// The triangle of a matrix that the options of a linear algebra call name; the lower one where they
// say nothing.
bool IsLowerTriangle(const CallConfig& config);

}  // namespace hloscope::hlo::expand

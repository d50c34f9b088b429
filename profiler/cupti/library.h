// libcupti, found at run time: one table of its functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "profiler/cupti/range_api.h"
#include "profiler/cupti/sampling_api.h"

namespace hloscope::profiler::cupti {

using CallbackFunction = void(void* data, int domain, uint32_t callback, const void* parameters);
using BufferRequested = void(uint8_t** buffer, size_t* bytes, size_t* most_records);
using BufferCompleted = void(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                             size_t valid_bytes);

// What becomes of an attempt to record by CUPTI.
enum class CuptiState : uint8_t {
  kReady,
  kAbsent,         // no libcupti
  kWrongVersion,   // its records cannot be read, or it lacks functions
  kOtherProfiler,  // has the process for itself
  kNotPermitted,
  kMig,      // a slice of a GPU
  kRefused,  // anything else
};

class Library {
 public:
  // That of this process where one is loaded (a plugin's own), else the first of `files`, and then
  // of the names of its versions, that can be used. It stays loaded, with the library of its
  // metrics from the same folder. Environment errors, with the fix, of the first that is there: it
  // lacks functions, its version is one whose records cannot be read, it cannot be started with
  // this driver; none is there.
  // `state`, where not null, gets which of these.
  static Result<std::shared_ptr<const Library>> Open(const std::vector<std::string>& files,
                                                     CuptiState* state = nullptr);
  // That file, with the same errors.
  static Result<std::shared_ptr<const Library>> OpenFile(const std::string& file) {
    return Load(file, nullptr);
  }

#define CUPTI_FUNCTION(member, name, ...) int (*member)(__VA_ARGS__) = nullptr;
#include "profiler/cupti/functions.def"
#undef CUPTI_FUNCTION

  // Its range profiler; null: it is too old to have one, and missing_of_range() is what it lacks.
  const RangeFunctions* range() const { return missing_of_range_.empty() ? &range_ : nullptr; }
  const std::string& missing_of_range() const { return missing_of_range_; }
  // The same of its PC sampling.
  const SamplingFunctions* sampling() const {
    return missing_of_sampling_.empty() ? &sampling_ : nullptr;
  }
  const std::string& missing_of_sampling() const { return missing_of_sampling_; }

  uint32_t version() const { return version_; }
  const std::string& path() const { return path_; }

  static CuptiState StateOf(int result);
  // The error of a result that is not 0; `what` was refused.
  Status Check(int result, std::string_view what) const;

 private:
  Library() = default;
  // `library`: of dlopen; null: it is opened.
  static Result<std::shared_ptr<const Library>> Load(const std::string& path, void* library);
  // Whether it works with this driver.
  Status TryToStart(CuptiState* state) const;
  uint32_t version_ = 0;
  std::string path_;
  RangeFunctions range_;
  SamplingFunctions sampling_;
  std::string missing_of_range_, missing_of_sampling_;
};

}  // namespace hloscope::profiler::cupti

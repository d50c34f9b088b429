// libcupti, found at run time: one table of its functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hloscope::profiler::cupti {

using CallbackFunction = void(void* data, int domain, uint32_t callback, const void* parameters);
using BufferRequested = void(uint8_t** buffer, size_t* bytes, size_t* most_records);
using BufferCompleted = void(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                             size_t valid_bytes);

class Library {
 public:
  // That of this process where one is loaded (a plugin's own), else the first of `files`, else by
  // the names of its versions. It stays loaded. Environment errors, with the fix: none is there, it
  // lacks functions, its version is one whose records cannot be read.
  static Result<std::shared_ptr<const Library>> Open(const std::vector<std::string>& files);

#define CUPTI_FUNCTION(member, name, ...) int (*member)(__VA_ARGS__) = nullptr;
#include "profiler/cupti/functions.def"
#undef CUPTI_FUNCTION

  uint32_t version() const { return version_; }
  const std::string& path() const { return path_; }

  // The error of a result that is not 0; `what` was refused.
  Status Check(int result, std::string_view what) const;

 private:
  Library() = default;
  uint32_t version_ = 0;
  std::string path_;
};

}  // namespace hloscope::profiler::cupti

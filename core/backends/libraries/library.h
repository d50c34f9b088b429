// Library: one of NVIDIA's libraries, loaded when first asked for, and what its refusals mean.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/backends/libraries/interface.h"
#include "core/base/result.h"

namespace hloscope::replay::libraries {

struct DeviceLibraryRow {
  DeviceLibrary library;
  std::string_view name;       // "cuBLASLt"
  std::string_view word;       // that leaves it out
  std::string_view beginning;  // of its soname
  int least_major, least_minor;
  const char* property_symbol;
  std::string_view purpose;
  std::string_view own;  // what does it where the library does not: "our own kernels"
};
std::span<const DeviceLibraryRow> DeviceLibraryRows();
const DeviceLibraryRow& RowOf(DeviceLibrary library);
// That of a name, with a version behind it or not: "cuBLASLt 13.0.2". Null for none.
const DeviceLibraryRow* FindRow(std::string_view text);

class Library {
 public:
  // `driver`: the newest CUDA that the driver runs (1000 · major + 10 · minor). Loaded once for the
  // process; an error is kept as long as LD_LIBRARY_PATH stays. Unsupported errors, whose messages
  // begin with name and reason: it is nowhere, cannot be loaded, is too old or too new, lacks a
  // function.
  static Result<std::shared_ptr<const Library>> Open(DeviceLibrary library, int driver);

  // The first of the files that the loader takes; `install` is the fix where that is none, or it is
  // of no use.
  static Result<std::shared_ptr<const Library>> LoadFirst(const DeviceLibraryRow& row,
                                                          std::span<const std::string> files,
                                                          const std::string& install);

  const Functions* operator->() const { return &functions_; }
  const DeviceLibraryRow& row() const { return row_; }
  const std::string& file() const { return file_; }
  const std::string& version() const { return version_; }  // "13.0.2"

  // Good where the library's answer is; else an unsupported error: reason, what was being done, the
  // answer, the fix.
  template <typename... Args>
  Status Check(int answer, fmt::format_string<Args...> doing, Args&&... args) const {
    if (answer == 0) [[likely]]
      return {};
    return std::unexpected(ErrorOf(answer, fmt::format(doing, std::forward<Args>(args)...)));
  }

 private:
  explicit Library(const DeviceLibraryRow& row) : row_(row) {}
  static Result<std::shared_ptr<const Library>> Load(const DeviceLibraryRow& row, int driver);
  Error ErrorOf(int answer, const std::string& doing) const;
  Status Take(void* handle, const std::string& install);

  const DeviceLibraryRow& row_;
  Functions functions_;
  std::string file_, version_;
};

}  // namespace hloscope::replay::libraries

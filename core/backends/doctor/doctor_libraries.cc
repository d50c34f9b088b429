// Loading NVIDIA's libraries in a child.
#include <span>
#include <utility>

#include "core/backends/doctor/doctor_info.h"
#include "core/backends/libraries/library.h"
#include "core/base/byte_archive.h"
#include "core/replay/workers/isolated_task.h"

namespace hloscope::replay {
namespace {

using libraries::DeviceLibraryRow;
using libraries::Library;

}  // namespace

// The task "libraries": for a driver of the CUDA that the request says.
Result<std::string> QueryLibrariesTask(std::string_view request) {
  int32_t driver = 0;
  ByteReader in(std::as_bytes(std::span(request)));
  in(driver);
  if (!in.ok()) return InternalError("malformed request");
  ByteWriter out;
  for (const DeviceLibraryRow& row : libraries::DeviceLibraryRows()) {
    const auto library = Library::Open(row.library, driver);
    if (library.has_value()) {
      out((*library)->file(), (*library)->version(), std::string(), std::string());
    } else {
      out(std::string(), std::string(), library.error().message, library.error().hint);
    }
  }
  return std::move(out).Take();
}

std::vector<DeviceLibraryInfo> QueryLibraries(int driver) {
  ByteWriter request;
  request(int32_t{driver});
  const Result<std::string> answer =
      RunIsolatedTask({.name = "libraries", .bytes = std::move(request).Take()});
  std::vector<DeviceLibraryInfo> out;
  if (!answer.has_value()) {
    DeviceLibraryInfo all;
    all.name = "NVIDIA's libraries";
    all.problem = "loading them failed: " + answer.error().message;
    return {std::move(all)};
  }
  ByteReader in(std::as_bytes(std::span(*answer)));
  for (const DeviceLibraryRow& row : libraries::DeviceLibraryRows()) {
    DeviceLibraryInfo& info = out.emplace_back();
    info.name = row.name;
    info.purpose = row.purpose;
    in(info.file, info.version, info.problem, info.fix);
  }
  return out;
}

}  // namespace hloscope::replay

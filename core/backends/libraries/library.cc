#include "core/backends/libraries/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/backends/plugins/cuda_files.h"
#include "core/backends/plugins/library_files.h"
#include "core/backends/plugins/python_environments.h"

namespace hloscope::replay::libraries {
namespace {

constexpr DeviceLibraryRow kRows[] = {
#define DEVICE_LIBRARY(library, name, word, beginning, major, minor, property, purpose, own) \
  {DeviceLibrary::library, name, word, beginning, major, minor, #property, purpose, own},
#include "core/backends/libraries/libraries.def"
#undef DEVICE_LIBRARY
};

// Codes of NCCL up to 2.8 are 1000 · major + 100 · minor + patch, then 10000 · major + ….
constexpr int kNcclOldCodes = 10000;

struct AnswerRow {
  DeviceLibrary library;
  int number;
  const char *name, *reason, *fix;
};
constexpr AnswerRow kAnswers[] = {
#define DEVICE_ANSWER(library, number, name, reason, fix) \
  {DeviceLibrary::library, number, #name, reason, fix},
#include "core/backends/libraries/answers.def"
#undef DEVICE_ANSWER
};

std::string InstallCommand(const DeviceLibraryRow& row, int cuda_major) {
  for (const CudaLibrary& library : CudaLibraries(cuda_major)) {
    if (!library.soname.starts_with(row.beginning)) continue;
    return fmt::format("python3 -m pip install {}", library.wheel);
  }
  return {};
}

// Those of CUDA that the driver runs, the newest first.
std::vector<int> MajorsFor(int driver) {
  if (driver >= 13000) return {13, 12};
  return {12};
}

}  // namespace

std::span<const DeviceLibraryRow> DeviceLibraryRows() { return kRows; }
const DeviceLibraryRow& RowOf(DeviceLibrary library) { return kRows[static_cast<size_t>(library)]; }

const DeviceLibraryRow* FindRow(std::string_view text) {
  const auto* const row =
      std::ranges::find(kRows, text.substr(0, text.find(' ')), &DeviceLibraryRow::name);
  return row == std::end(kRows) ? nullptr : row;
}

Error Library::ErrorOf(int answer, const std::string& doing) const {
  const auto row = std::ranges::find_if(kAnswers, [&](const AnswerRow& each) {
    return each.library == row_.library && each.number == answer;
  });
  if (row == std::end(kAnswers)) {
    return {ErrorClass::kUnsupported,
            fmt::format("{}: refused by the library: {} failed with {}", row_.name, doing, answer),
            {},
            {}};
  }
  return {ErrorClass::kUnsupported,
          fmt::format("{}: {}: {} failed with {} ({})", row_.name, row->reason, doing, row->name,
                      answer),
          {},
          row->fix};
}

Result<std::shared_ptr<const Library>> Library::Open(DeviceLibrary library, int driver) {
  static std::mutex mutex;
  static std::map<std::pair<DeviceLibrary, std::string>, Result<std::shared_ptr<const Library>>>
      opened;
  const std::lock_guard lock(mutex);
  const std::pair key(library, std::string(EnvironmentVariable("LD_LIBRARY_PATH")));
  auto found = opened.find(key);
  if (found == opened.end()) found = opened.emplace(key, Load(RowOf(library), driver)).first;
  return found->second;
}

Result<std::shared_ptr<const Library>> Library::Load(const DeviceLibraryRow& row, int driver) {
  const std::vector<int> majors = MajorsFor(driver);
  std::vector<std::string> files = CudaLibraryFiles(row.beginning, majors);
  if (files.empty() && majors[0] < 13 && !CudaLibraryFiles(row.beginning, std::array{13}).empty()) {
    return UnsupportedError(
        fmt::format("{}: version mismatch: that of CUDA 13 is there, NVIDIA's driver is of CUDA "
                    "{}.{}",
                    row.name, driver / 1000, driver % 1000 / 10),
        InstallCommand(row, majors[0]));
  }
  // Where the system's loader looks.
  for (const int major : majors) {
    for (const CudaLibrary& library : CudaLibraries(major)) {
      if (library.soname.starts_with(row.beginning)) files.emplace_back(library.soname);
    }
  }
  return LoadFirst(row, files, InstallCommand(row, majors[0]));
}

Result<std::shared_ptr<const Library>> Library::LoadFirst(const DeviceLibraryRow& row,
                                                          std::span<const std::string> files,
                                                          const std::string& install) {
  std::string why;
  std::optional<Error> refused;  // the first that is of no use
  bool is_there = false;
  for (const std::string& file : files) {
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* const message = dlerror();
      if (why.empty() && message != nullptr) why = message;
      is_there |= file.find('/') != std::string::npos;
      continue;
    }
    std::shared_ptr<Library> library(new Library(row));
    library->file_ = file;
    const Status taken = library->Take(handle, install);
    if (taken.has_value()) return library;
    if (!refused) refused = taken.error();
    // The next must not get libraries that this one needs.
    dlclose(handle);
  }
  if (refused) return std::unexpected(*std::move(refused));
  return UnsupportedError(
      fmt::format("{}: {}: {}", row.name, is_there ? "cannot be loaded" : "no library", why),
      install);
}

Status Library::Take(void* handle, const std::string& install) {
  std::string missing;
  const auto find = [&](auto& function, const char* symbol) {
    void* const found = dlsym(handle, symbol);
    if (found == nullptr && missing.empty()) missing = symbol;
    std::memcpy(&function, &found, sizeof found);
  };
#define DEVICE_FUNCTION(of, name, symbol, ...) \
  if (row_.library == DeviceLibrary::of) find(functions_.name, #symbol);
#include "core/backends/libraries/functions.def"
#undef DEVICE_FUNCTION
  void (*property)() = nullptr;
  find(property, row_.property_symbol);
  // Where the loader found it.
  Dl_info place{};
  if (property != nullptr && dladdr(reinterpret_cast<void*>(property), &place) != 0 &&
      place.dli_fname != nullptr) {
    file_ = place.dli_fname;
  }
  if (missing.empty()) {
    int major = 0, minor = 0, patch = 0;
    if (row_.library == DeviceLibrary::kNccl) {  // tells all of it as one number
      int code = 0;
      HLOSCOPE_TRY(
          Check(reinterpret_cast<int (*)(int*)>(property)(&code), "asking for its version"));
      const int per_major = code < kNcclOldCodes ? 1000 : 10000;
      major = code / per_major;
      minor = code % per_major / 100;
      patch = code % 100;
    } else {
      const auto part = reinterpret_cast<int (*)(int, int*)>(property);
      HLOSCOPE_TRY(Check(part(0, &major), "asking for its version"));
      HLOSCOPE_TRY(Check(part(1, &minor), "asking for its version"));
      HLOSCOPE_TRY(Check(part(2, &patch), "asking for its version"));
    }
    version_ = fmt::format("{}.{}.{}", major, minor, patch);
    if (std::pair(major, minor) >= std::pair(row_.least_major, row_.least_minor)) return {};
    missing = fmt::format("it is {}", version_);
  } else {
    missing = "it has no " + missing;
  }
  return UnsupportedError(
      fmt::format("{}: version mismatch: {}, {}.{} or newer is needed: {}", row_.name, missing,
                  row_.least_major, row_.least_minor, file_),
      install);
}

}  // namespace hloscope::replay::libraries

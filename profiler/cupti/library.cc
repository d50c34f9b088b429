// Loading libcupti and judging what it says.
#include "profiler/cupti/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "profiler/cupti/decode.h"

namespace hloscope::profiler::cupti {
namespace {

constexpr std::array kNames = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
constexpr std::string_view kInstall =
    "`pip install nvidia-cuda-cupti` (CUDA 13) or nvidia-cuda-cupti-cu12, or the CUDA toolkit, has "
    "libcupti";

struct Opened {
  void* library = nullptr;
  std::string path;
};

Opened OpenFirst(const std::vector<std::string>& files) {
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return {library, name};
  }
  for (const std::string& file : files) {
    if (void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return {library, file};
  }
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return {library, name};
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Library>> Library::Open(const std::vector<std::string>& files) {
  const Opened opened = OpenFirst(files);
  if (opened.library == nullptr) {
    return EnvironmentError("no libcupti: kernels on the GPU cannot be timed one by one",
                            std::string(kInstall));
  }
  std::shared_ptr<Library> all(new Library);
  all->path_ = opened.path;
  std::string missing;
#define CUPTI_FUNCTION(member, name, ...)                                                     \
  all->member = reinterpret_cast<int (*)(__VA_ARGS__)>(dlsym(opened.library, "cupti" #name)); \
  if (all->member == nullptr)                                                                 \
    missing += (missing.empty() ? "cupti" : ", cupti") + std::string(#name);
#include "profiler/cupti/functions.def"
#undef CUPTI_FUNCTION
  if (!missing.empty()) {
    return EnvironmentError(fmt::format("{} lacks {}", opened.path, missing),
                            std::string(kInstall));
  }
  HLOSCOPE_TRY(all->Check(all->get_version(&all->version_), "asking its version"));
  if (!IsKnownVersion(all->version_)) {
    return EnvironmentError(
        fmt::format("{} is of {} (API version {}), whose records cannot be read", opened.path,
                    VersionText(all->version_), all->version_),
        std::string(kInstall));
  }
  return all;
}

Status Library::Check(int result, std::string_view what) const {
  if (result == 0) return {};
  const auto refused = [&](std::string_view meaning, std::string_view fix) {
    return EnvironmentError(fmt::format("CUPTI: {}: {} (result {})", what, meaning, result),
                            std::string(fix));
  };
  switch (result) {
#define CUPTI_REFUSAL(number, meaning, fix) \
  case number:                              \
    return refused(meaning, fix);
#include "profiler/cupti/refusals.def"
#undef CUPTI_REFUSAL
    default:
      break;
  }
  const char* text = nullptr;
  if (get_result_string != nullptr) get_result_string(result, &text);
  return refused(text == nullptr ? "refused" : text, "`hloscope doctor` shows what is missing");
}

}  // namespace hloscope::profiler::cupti

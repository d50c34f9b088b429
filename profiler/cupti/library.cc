// Loading libcupti and judging what it says.
#include "profiler/cupti/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>

#include "profiler/cupti/decode.h"

namespace hloscope::profiler::cupti {
namespace {

constexpr std::array kNames = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
constexpr std::string_view kInstall =
    "`pip install nvidia-cuda-cupti` (CUDA 13) or nvidia-cuda-cupti-cu12, or the CUDA toolkit, has "
    "libcupti";

// CUPTI_ERROR_NOT_INITIALIZED: what one that is newer than the driver answers.
constexpr int kNotInitialized = 15;

// CUPTI loads it by name for its metrics and has no path to its own folder, so that one in a wheel
// finds none: whichever has that name in the process is the one that it gets.
void* OpenHostLibraryBeside(const std::string& cupti) {
  const std::filesystem::path folder = std::filesystem::path(cupti).parent_path();
  if (folder.empty()) return nullptr;  // where the loader looks by itself
  return dlopen((folder / "libnvperf_host.so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

Result<std::shared_ptr<const Library>> Library::Open(const std::vector<std::string>& files,
                                                     CuptiState* state) {
  if (state != nullptr) *state = CuptiState::kWrongVersion;
  // Two of them in one process would be in each other's way.
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return Load(name, library);
  }
  std::vector<std::string> all = files;
  all.insert(all.end(), kNames.begin(), kNames.end());
  std::optional<Error> refused;  // the first that is of no use
  for (const std::string& file : all) {
    void* const host = OpenHostLibraryBeside(file);
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      Result<std::shared_ptr<const Library>> loaded = Load(file, library);
      const Status started = loaded.has_value() ? (*loaded)->TryToStart(state)
                                                : Status(std::unexpected(loaded.error()));
      if (started.has_value()) return loaded;
      if (!refused) refused = started.error();
      dlclose(library);  // not together with the next
    }
    if (host != nullptr) dlclose(host);
  }
  if (refused) return std::unexpected(*std::move(refused));
  if (state != nullptr) *state = CuptiState::kAbsent;
  return EnvironmentError("no libcupti: kernels on the GPU cannot be timed one by one",
                          std::string(kInstall));
}

Status Library::TryToStart(CuptiState* state) const {
  void* subscriber = nullptr;
  const int result = subscribe(&subscriber, [](void*, int, uint32_t, const void*) {}, nullptr);
  if (result == 0) unsubscribe(subscriber);
  if (result != kNotInitialized) return {};  // other refusals may be gone when it is asked again
  if (state != nullptr) *state = StateOf(result);
  return Check(result, fmt::format("starting {}", path_));
}

Result<std::shared_ptr<const Library>> Library::Load(const std::string& path, void* library) {
  if (library == nullptr) {
    OpenHostLibraryBeside(path);
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    return EnvironmentError(fmt::format("{} cannot be loaded", path), std::string(kInstall));
  }
  std::shared_ptr<Library> all(new Library);
  all->path_ = path;
  std::string missing;
  const auto find = [&](const char* name, std::string& lacks) {
    void* const found = dlsym(library, name);
    if (found == nullptr) lacks += (lacks.empty() ? "" : ", ") + std::string(name);
    return found;
  };
#define CUPTI_FUNCTION(member, name, ...) \
  all->member = reinterpret_cast<int (*)(__VA_ARGS__)>(find("cupti" #name, missing));
#include "profiler/cupti/functions.def"
#undef CUPTI_FUNCTION
#define RANGE_FUNCTION(member, name, params) \
  all->range_.member =                       \
      reinterpret_cast<int (*)(params*)>(find("cupti" #name, all->missing_of_range_));
#include "profiler/cupti/range_functions.def"
#undef RANGE_FUNCTION
#define SAMPLING_FUNCTION(member, name, params) \
  all->sampling_.member =                       \
      reinterpret_cast<int (*)(params*)>(find("cupti" #name, all->missing_of_sampling_));
#include "profiler/cupti/sampling_functions.def"
#undef SAMPLING_FUNCTION
  if (!missing.empty()) {
    return EnvironmentError(fmt::format("{} lacks {}", path, missing), std::string(kInstall));
  }
  HLOSCOPE_TRY(all->Check(all->get_version(&all->version_), "asking its version"));
  if (!IsKnownVersion(all->version_)) {
    return EnvironmentError(
        fmt::format("{} is of {} (API version {}), whose records cannot be read", path,
                    VersionText(all->version_), all->version_),
        std::string(kInstall));
  }
  return all;
}

CuptiState Library::StateOf(int result) {
  switch (result) {
    case 0:
      return CuptiState::kReady;
#define CUPTI_REFUSAL(number, state, meaning, fix) \
  case number:                                     \
    return CuptiState::state;
#include "profiler/cupti/refusals.def"
#undef CUPTI_REFUSAL
    default:
      return CuptiState::kRefused;
  }
}

Status Library::Check(int result, std::string_view what) const {
  if (result == 0) return {};
  const auto refused = [&](std::string_view meaning, std::string_view fix) {
    return EnvironmentError(fmt::format("CUPTI: {}: {} (result {})", what, meaning, result),
                            std::string(fix));
  };
  switch (result) {
#define CUPTI_REFUSAL(number, state, meaning, fix) \
  case number:                                     \
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

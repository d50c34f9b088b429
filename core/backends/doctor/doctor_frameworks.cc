// The frameworks of an environment, read from the disk: no Python is started, nothing is imported.
#include <algorithm>
#include <filesystem>
#include <set>

#include "core/backends/doctor/doctor_info.h"
#include "core/backends/plugins/python_environments.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

struct FrameworkRow {
  std::string_view name, distributions, xla;
};
// Names of distributions as their folders have them, with blanks between.
constexpr FrameworkRow kFrameworks[] = {
    {"JAX", "jax", "every jitted function"},
    {"TensorFlow",
     "tensorflow tensorflow_cpu tensorflow_intel tensorflow_gpu tf_nightly tf_nightly_cpu",
     "tf.function(jit_compile=True), and auto-clustering by TF_XLA_FLAGS"},
    {"Keras", "keras", "model.compile(jit_compile=True), with the backend JAX or TensorFlow"},
    {"PyTorch", "torch", "through torch_xla only"},
    {"PyTorch/XLA", "torch_xla", "tensors on the device xla"},
};

// The version of the distribution in a folder of packages; empty: it is not there.
std::string VersionIn(const std::vector<std::string>& names, std::string_view distribution) {
  for (const std::string& name : names) {
    std::string_view text = name;
    if (!text.starts_with(distribution) || !text.ends_with(".dist-info")) continue;
    text.remove_prefix(distribution.size());
    text.remove_suffix(std::string_view(".dist-info").size());
    if (text.starts_with('-')) return std::string(text.substr(1));
  }
  return {};
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  std::ranges::sort(names);
  return names;
}

// "12.5.1" of "('cuda_version', '12.5.1')" and "cuda: Optional[str] = '12.8'".
std::string QuotedAfter(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + words.size());
  text = text.substr(0, text.find('\n'));
  const size_t begin = text.find('\'');
  if (begin == std::string_view::npos || begin > 4) return {};
  text.remove_prefix(begin + 1);
  return std::string(text.substr(0, text.find('\'')));
}

constexpr size_t kMaxFile = size_t{1} << 16;

// For which CUDA and cuDNN it was built.
void ReadBuild(const std::string& folder, const std::vector<std::string>& names,
               FrameworkInfo& info) {
  if (info.name == "TensorFlow") {
    const std::string text =
        ReadStart(folder + "/tensorflow/python/platform/build_info.py", kMaxFile);
    info.is_build_known = text.contains("is_cuda_build");
    info.cuda = QuotedAfter(text, "'cuda_version', ");
    info.cudnn = QuotedAfter(text, "'cudnn_version', ");
  } else if (info.name == "PyTorch") {
    const std::string text = ReadStart(folder + "/torch/version.py", kMaxFile);
    info.is_build_known = text.contains("cuda");
    info.cuda = QuotedAfter(text, "cuda: Optional[str] = ");
    if (info.cuda.empty()) info.cuda = QuotedAfter(text, "cuda = ");
  } else if (info.name == "JAX") {
    // jaxlib has no CUDA since 0.4.31: a plugin of the same version brings it.
    info.is_build_known = true;
    for (std::string_view major : {"13", "12"}) {
      const std::string plugin = VersionIn(names, "jax_cuda" + std::string(major) + "_plugin");
      if (plugin.empty()) continue;
      info.cuda = major;
      info.plugin = "jax-cuda" + std::string(major) + "-plugin " + plugin;
      break;
    }
  }
  if (info.cuda.empty()) return;
  const std::string major = info.cuda.substr(0, info.cuda.find('.'));
  info.cudnn_there = VersionIn(names, "nvidia_cudnn_cu" + major);
}

}  // namespace

std::vector<FrameworkInfo> FindFrameworks(const PluginFindings& findings) {
  std::vector<FrameworkInfo> found;
  std::set<std::string_view> known;
  for (const SearchedPlace& place : findings.places) {
    for (const std::string& folder : place.folders) {
      const std::vector<std::string> names = NamesIn(folder);
      for (const FrameworkRow& row : kFrameworks) {
        if (known.contains(row.name)) continue;
        std::string_view rest = row.distributions;
        while (!rest.empty()) {
          const std::string_view distribution = rest.substr(0, rest.find(' '));
          rest.remove_prefix(std::min(distribution.size() + 1, rest.size()));
          std::string version = VersionIn(names, distribution);
          if (version.empty()) continue;
          known.insert(row.name);
          FrameworkInfo& info = found.emplace_back();
          info.name = row.name;
          info.distribution = distribution;
          std::ranges::replace(info.distribution, '_', '-');
          info.version = std::move(version);
          info.folder = folder;
          info.xla = row.xla;
          ReadBuild(folder, names, info);
          break;
        }
      }
    }
  }
  return found;
}

}  // namespace hloscope::replay

// What `hloscope doctor` finds out before it judges. Plain data, so that every state can be made up
// by a test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/backends/jaxlib/find_jaxlib.h"
#include "core/backends/plugins/cuda_files.h"
#include "core/backends/plugins/plugins.h"
#include "core/base/limits.h"
#include "profiler/cupti/library.h"

namespace hloscope::replay {

// A plugin after it was loaded in a child and asked for its devices.
struct PluginInfo {
  PluginFile file;
  std::string problem;  // why it cannot be used; empty: it can
  bool died = false;    // the child did, of loading it
  int32_t major = 0, minor = 0;
  bool has_profiler = false;  // PJRT_Profiler_Extension
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::string> devices;
  std::string device_problem;  // why it sees none
};

struct GpuInfo {
  std::string name;
  int32_t capability = 0;  // × 10
  int64_t memory_bytes = 0;
};

// The CUDA driver after a child has asked it.
struct DriverInfo {
  bool found = false;   // a libcuda.so.1 was there
  std::string problem;  // of loading it, or of the child that did
  bool died = false;    // the child did
  int32_t error = 0;    // of cuInit or of counting devices
  std::string error_name;
  int32_t version = 0;  // 1000 · major + 10 · minor of the newest CUDA it can run
  std::vector<GpuInfo> devices;
};

// CUPTI after a child has tried to record by it.
struct CuptiInfo {
  bool asked = false;  // where the driver has a device
  bool died = false;   // the child did
  profiler::cupti::CuptiState state = profiler::cupti::CuptiState::kReady;
  std::string path, version, problem, fix;
  // Where it can record: whether counters of kernels can be read, too.
  profiler::cupti::CuptiState counters = profiler::cupti::CuptiState::kReady;
  std::string counters_problem, counters_fix;
  // And whether program counters can be sampled.
  profiler::cupti::CuptiState sampling = profiler::cupti::CuptiState::kReady;
  std::string sampling_problem, sampling_fix;
};

struct DeviceNode {
  std::string path;
  bool usable = false;
  std::string group;  // that may use it; empty: none may beyond its owner
};

// What the kernel says.
struct SystemInfo {
  std::string kernel_driver;  // version of NVIDIA's kernel module; empty: not loaded
  int nvidia_devices = 0;     // on the PCI bus
  bool in_container = false;
  std::vector<DeviceNode> nodes;                // /dev/nvidia*
  std::optional<bool> profiling_for_root_only;  // NVreg_RestrictProfilingToAdminUsers
  std::optional<int> perf_event_paranoid;
  bool is_root = false;
  std::optional<int64_t> address_space_bytes;  // where limited
};

struct LibraryInfo {
  CudaLibrary library;
  std::string path;  // empty: not found
};

// A library that may do the work of kernels of ours, after a child has loaded it.
struct DeviceLibraryInfo {
  std::string name, purpose;
  std::string file, version;
  std::string problem, fix;  // why it cannot be used; empty: it can
};

struct VariableInfo {
  std::string name, shown, purpose;
};

// What is kept in the user's cache: modules that our compiler compiled, or choices.
struct ObjectCacheInfo {
  std::string folder;  // empty: there is none
  int64_t files = 0, bytes = 0;
  std::string library_without_id = {};  // by which compiled modules would be known; empty: none
};

// A library of the program's own that is there.
struct OwnLibraryInfo {
  std::string name, error;  // why it does not load; empty: it does, and catches exceptions
};

// A framework in a Python environment that is searched.
struct FrameworkInfo {
  std::string name, distribution, version;  // "TensorFlow", "tensorflow-cpu", "2.21.0"
  std::string folder;                       // of packages that it is in
  std::string xla;                          // what of a program XLA compiles there
  bool is_build_known = false;              // whether it says for which CUDA it was built
  std::string cuda, cudnn;                  // that it was built for; empty: for none
  std::string plugin;                       // that brings CUDA: "jax-cuda12-plugin 0.10.2"
  std::string cudnn_there;                  // the version of cuDNN's wheel in the same folder
};

struct DoctorInfo {
  std::vector<OwnLibraryInfo> own_libraries;
  PluginFindings findings;
  std::vector<PluginInfo> plugins;
  std::string jaxlib_version, jaxlib_folder;  // of the first jaxlib in a searched environment
  std::vector<JaxlibPlace> jaxlibs;           // that a platform can run on
  std::vector<FrameworkInfo> frameworks;      // each once, the first that is found
  DriverInfo driver;
  CuptiInfo cupti;
  SystemInfo system;
  CudaToolkit toolkit;  // for the first plugin for GPUs
  std::vector<LibraryInfo> libraries;
  std::vector<DeviceLibraryInfo> device_libraries;  // where the driver has a device
  std::string visible_devices;  // CUDA_VISIBLE_DEVICES; "unset" differs from empty
  bool visible_devices_set = false;
  std::string container_devices;  // NVIDIA_VISIBLE_DEVICES
  std::vector<VariableInfo> variables;
  bool has_library_calls = true;  // of oneDNN, for the platform cpu
  ObjectCacheInfo object_cache;
  ObjectCacheInfo choice_cache;  // choices between ways of NVIDIA's libraries
  Limits limits;
};

std::vector<FrameworkInfo> FindFrameworks(const PluginFindings& findings);

// Everything of this machine, plugins and driver asked in children with that deadline each.
DoctorInfo GatherDoctorInfo(const PluginSearch& search, const Limits& limits);

// The parts; `root` goes before /dev, /proc and /sys.
SystemInfo ReadSystemInfo(const std::string& root);
DriverInfo QueryDriver();
CuptiInfo QueryCupti();
// For a driver that runs CUDA up to `driver` (1000 · major + 10 · minor).
std::vector<DeviceLibraryInfo> QueryLibraries(int driver);
PluginInfo QueryPlugin(const PluginFile& file);
std::vector<VariableInfo> ReadVariables();

}  // namespace hloscope::replay

// Every state that the doctor can meet, from invented facts: its message and the command that fixes
// it. And the reading of facts from invented kernel files.
#include "core/backends/doctor/doctor.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "tests/base/scratch.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;
using profiler::cupti::CuptiState;

PluginInfo Cpu() {
  PluginInfo plugin;
  plugin.file = {"/env/cpu.so", Devices::kHost, "cpu-wheel",
                 "1.2",         "VIRTUAL_ENV",  "/env/lib/python3/p"};
  plugin.minor = 115;
  plugin.devices = {"cpu", "cpu"};
  return plugin;
}

PluginInfo Gpu() {
  PluginInfo plugin;
  plugin.file = {"/env/gpu.so", Devices::kGpu,        "gpu-wheel", "3.4",
                 "VIRTUAL_ENV", "/env/lib/python3/p", 13,          75};
  plugin.minor = 116;
  plugin.device_problem = "the client does not start";
  return plugin;
}

// A machine where everything is there: one GPU that XLA sees.
DoctorInfo Healthy() {
  DoctorInfo info;
  info.own_libraries = {{"libhloscope_codegen.so", ""}};
  info.plugins = {Cpu(), Gpu()};
  info.plugins[1].devices = {"Made-up GPU"};
  info.jaxlibs = {{"/env/bin/python3", "0.10.2", "/env/lib/python3/p", "VIRTUAL_ENV"},
                  {"/usr/bin/python3", "0.4.38", "/usr/lib/python3/p", "python3 on PATH"}};
  info.driver.found = true;
  info.driver.version = 13000;
  info.driver.devices = {{"Made-up GPU", 90, int64_t{80} << 30}};
  info.cupti.asked = true;
  info.cupti.path = "/cuda/libcupti.so.13";
  info.cupti.version = "CUDA 13.0";
  info.system.kernel_driver = "580.65.06";
  info.system.nvidia_devices = 1;
  info.system.nodes = {{"/dev/nvidia0", true, "video"}};
  info.system.profiling_for_root_only = false;
  info.system.perf_event_paranoid = 2;
  info.toolkit = {"/cuda", "/cuda/bin/ptxas", "/cuda/libdevice.10.bc", false, {}};
  info.libraries = {{CudaLibraries(13)[0], "/cuda/lib/libcublasLt.so.13"}};
  info.device_libraries = {
      {"cuFFT", "Fourier transforms", "/cuda/libcufft.so.12", "12.0.0", "", ""}};
  info.variables = {{"XLA_FLAGS", "--xla_dump_to", "of others"}};
  return info;
}

// The same without any device that XLA sees.
DoctorInfo Unseen() {
  DoctorInfo info = Healthy();
  info.plugins[1].devices.clear();
  info.driver.devices.clear();
  info.driver.error = 100;
  return info;
}

FrameworkInfo Framework(const std::string& distribution, bool is_build_known,
                        const std::string& cuda) {
  FrameworkInfo info;
  info.name = is_build_known ? "TensorFlow" : "Keras";
  info.distribution = distribution;
  info.version = "2.0";
  info.folder = "/env/lib/python3.11/site-packages";
  info.xla = "this";
  info.is_build_known = is_build_known;
  info.cuda = cuda;
  if (!cuda.empty()) info.cudnn = "9";
  return info;
}

struct StateRow {
  DoctorState state;
  std::function<void(DoctorInfo&)> change;  // of Healthy(), or of Unseen() for devices
  std::string message, command;             // parts of them
  bool unseen = false;
};

const StateRow kStates[] = {
    {DoctorState::kOwnLibraryReady, {}, "loads", ""},
    {DoctorState::kOwnLibraryUnusable,
     [](auto& f) { f.own_libraries[0].error = "libfoo.so.1: cannot open shared object file"; },
     "libfoo.so.1: cannot open shared object file", ""},
    {DoctorState::kPluginReady,
     {},
     "cpu-wheel 1.2, PJRT interface 0.115 without profiler extension, from VIRTUAL_ENV",
     ""},
    {DoctorState::kPluginAlsoThere, [](auto& f) { f.plugins.push_back(Cpu()); },
     "use it as pjrt:/env/cpu.so", ""},
    {DoctorState::kPluginAbsent,
     [](auto& f) {
       f.plugins.pop_back();
       f.findings.places = {{"VIRTUAL_ENV", "/env", "no plugin", {"/env/p"}}};
     },
     "searched VIRTUAL_ENV /env: no plugin", "setup --plugins --gpu"},
    {DoctorState::kPluginOnlyJaxlib,
     [](auto& f) {
       f.plugins.erase(f.plugins.begin());
       f.jaxlib_version = "0.10.2";
       f.jaxlib_folder = "/env/p";
     },
     "jaxlib 0.10.2 in /env/p does not export XLA's CPU client", "setup --plugins"},
    {DoctorState::kPluginUnusable, [](auto& f) { f.plugins[0].problem = "it speaks version 1.0"; },
     "it speaks version 1.0, from VIRTUAL_ENV",
     "python3 -m pip install --force-reinstall --no-deps lammps-jax-pjrt-cpu==0.11.2"},
    {DoctorState::kPluginDies,
     [](auto& f) {
       f.plugins[1].problem = "killed by signal 11";
       f.plugins[1].died = true;
     },
     "cannot load /env/gpu.so, from VIRTUAL_ENV: killed by signal 11",
     "--no-deps jax-cuda13-pjrt==0.12.0"},
    {DoctorState::kJaxlibReady, {}, "jaxlib 0.10.2, from VIRTUAL_ENV: /env/bin/python3", ""},
    {DoctorState::kJaxlibAlsoThere, {}, "use it with --python /usr/bin/python3", ""},
    {DoctorState::kJaxlibAbsent, [](auto& f) { f.jaxlibs.clear(); }, "no jaxlib in the active", ""},
    {DoctorState::kPluginPathGone,
     [](auto& f) {
       f.findings.places = {{"HLOSCOPE_PLUGIN_PATH", "/gone", "no such file or folder", {}}};
     },
     "HLOSCOPE_PLUGIN_PATH names /gone: no such file or folder", "unset HLOSCOPE_PLUGIN_PATH"},
    {DoctorState::kDevicesSeen, {}, "2 × cpu", ""},
    {DoctorState::kDevicesHidden, [](auto& f) { f.visible_devices_set = true; },
     "CUDA_VISIBLE_DEVICES=(empty) hides every device", "unset CUDA_VISIBLE_DEVICES", true},
    {DoctorState::kDevicesKeptOut,
     [](auto& f) {
       f.driver.found = false;
       f.container_devices = "void";
     },
     "NVIDIA_VISIBLE_DEVICES=void hides the devices", "docker run --gpus all", true},
    {DoctorState::kDevicesNoDriver, [](auto& f) { f.driver.found = false; },
     "no GPU: NVIDIA driver not installed",
     "hloscope compile MODULE --with xla-gpu --target h100 --dump DIR", true},
    {DoctorState::kDevicesDriverTooOld,
     [](auto& f) {
       f.driver = Healthy().driver;
       f.driver.version = 12040;
     },
     "the driver supports CUDA 12.4, this plugin needs CUDA 13",
     "pip uninstall -y jax-cuda13-pjrt && python3 -m pip install --no-deps jax-cuda12-pjrt", true},
    {DoctorState::kDevicesCapabilityTooLow,
     [](auto& f) {
       f.driver = Healthy().driver;
       f.driver.devices[0].capability = 70;
     },
     "Made-up GPU has compute capability 7.0, this plugin's CUDA 13 needs 7.5", "jax-cuda12-pjrt",
     true},
    {DoctorState::kDevicesForbidden, [](auto& f) { f.system.nodes[0].usable = false; },
     "this user has no permission to open /dev/nvidia0", "sudo usermod -aG video \"$USER\"", true},
    {DoctorState::kDevicesNoNodes, [](auto& f) { f.system.nodes.clear(); },
     "/dev/nvidia0 does not exist", "sudo nvidia-modprobe -c 0 -u", true},
    {DoctorState::kDevicesUnseen, [](auto& f) { f.driver = Healthy().driver; },
     "no device: the client does not start", "", true},
    {DoctorState::kDriverReady,
     {},
     "CUDA 13.0, driver 580.65.06: Made-up GPU, compute capability 9.0, 80 GiB",
     ""},
    {DoctorState::kDriverNoGpu,
     [](auto& f) {
       f.driver = {};
       f.system = {};
     },
     "no NVIDIA device on this machine", ""},
    {DoctorState::kDriverAbsent,
     [](auto& f) {
       f.driver = {};
       f.system.kernel_driver.clear();
     },
     "libcuda.so.1 not found, although this machine has an NVIDIA device",
     "sudo apt-get install -y nvidia-driver"},
    {DoctorState::kDriverNotInContainer, [](auto& f) { f.driver = {}; },
     "although the host's kernel has the driver", "docker run --gpus all IMAGE"},
    {DoctorState::kDriverUnloadable, [](auto& f) { f.driver.problem = "wrong ELF class"; },
     "cannot load libcuda.so.1: wrong ELF class", "--reinstall libcuda1"},
    {DoctorState::kDriverForLinking, [](auto& f) { f.driver.error = 34; }, "for linking only",
     "unset LD_LIBRARY_PATH"},
    {DoctorState::kDriverNoDevice, [](auto& f) { f.driver.error = 100; }, "it finds no device", ""},
    {DoctorState::kDriverMismatch, [](auto& f) { f.driver.error = 803; },
     "and the kernel module, driver 580.65.06 are of different versions", "sudo reboot"},
    {DoctorState::kDriverIncompatible, [](auto& f) { f.driver.error = 804; },
     "does not support this device", "unset LD_LIBRARY_PATH"},
    {DoctorState::kDriverFails,
     [](auto& f) {
       f.driver.error = 999;
       f.driver.error_name = "CUDA_ERROR_UNKNOWN";
     },
     "error 999, CUDA_ERROR_UNKNOWN", "dmesg"},
    {DoctorState::kDriverDies,
     [](auto& f) {
       f.driver.died = true;
       f.driver.problem = "killed by signal 11";
     },
     "querying it failed: killed by signal 11", "dmesg"},
    {DoctorState::kToolkitFound, {}, "/cuda/bin/ptxas", ""},
    {DoctorState::kToolkitMissing, [](auto& f) { f.toolkit = {}; }, "needs it to compile",
     "setup --plugins --gpu"},
    {DoctorState::kLibraryFound, {}, "/cuda/lib/libcublasLt.so.13", ""},
    {DoctorState::kLibraryMissing, [](auto& f) { f.libraries[0].path.clear(); },
     "not found; XLA:GPU needs it for matrix products", "pip install --no-deps nvidia-cublas"},
    {DoctorState::kDeviceLibraryReady,
     {},
     "Fourier transforms of our own compiler on a GPU: 12.0.0, /cuda/libcufft.so.12",
     ""},
    {DoctorState::kDeviceLibraryUnused,
     [](auto& f) {
       f.device_libraries[0].problem = "cuFFT: no library";
       f.device_libraries[0].fix = "python3 -m pip install nvidia-cufft";
     },
     "cuFFT: no library; our own kernels run instead", "pip install nvidia-cufft"},
    {DoctorState::kNodeUsable, {}, "readable and writable", ""},
    {DoctorState::kNodeForbidden, [](auto& f) { f.system.nodes = {{"/dev/nvidia0", false, ""}}; },
     "not readable and writable by this user", "sudo chmod a+rw /dev/nvidia0"},
    {DoctorState::kProfilingAllowed, {}, "are accessible", ""},
    {DoctorState::kProfilingForbidden, [](auto& f) { f.system.profiling_for_root_only = true; },
     "restricted to administrators", "NVreg_RestrictProfilingToAdminUsers=0"},
    {DoctorState::kCuptiReady, {}, "/cuda/libcupti.so.13, CUDA 13.0: kernels on the GPU", ""},
    {DoctorState::kCuptiAbsent, [](auto& f) { f.cupti.state = CuptiState::kAbsent; }, "no libcupti",
     "pip install nvidia-cuda-cupti"},
    {DoctorState::kCuptiWrongVersion,
     [](auto& f) {
       f.cupti.state = CuptiState::kWrongVersion;
       f.cupti.problem = "libcupti.so.11 is of CUDA 11";
     },
     "libcupti.so.11 is of CUDA 11", "--force-reinstall nvidia-cuda-cupti"},
    {DoctorState::kCuptiForbidden,
     [](auto& f) {
       f.cupti.state = CuptiState::kNotPermitted;
       f.cupti.problem = "ERR_NVGPUCTRPERM";
     },
     "ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0"},
    {DoctorState::kCuptiOtherProfiler,
     [](auto& f) {
       f.cupti.state = CuptiState::kOtherProfiler;
       f.cupti.problem = "another profiler is attached";
     },
     "another profiler is attached", "CUDA_INJECTION64_PATH"},
    {DoctorState::kCuptiMig,
     [](auto& f) {
       f.cupti.state = CuptiState::kMig;
       f.cupti.problem = "this slice of a GPU (MIG) cannot be profiled";
     },
     "MIG", "nvidia-smi -mig 0"},
    {DoctorState::kCuptiRefused,
     [](auto& f) {
       f.cupti.state = CuptiState::kRefused;
       f.cupti.problem = "refused";
       f.cupti.fix = "the fix";
     },
     "refused (the fix)", ""},
    {DoctorState::kSamplingReady, {}, "program counters of kernels can be sampled", ""},
    {DoctorState::kCuptiDies,
     [](auto& f) {
       f.cupti.died = true;
       f.cupti.problem = "SIGSEGV";
     },
     "SIGSEGV", "dmesg"},
    {DoctorState::kCountersReady, {}, "counters of kernels can be read", ""},
    {DoctorState::kCountersForbidden,
     [](auto& f) {
       f.cupti.counters = CuptiState::kNotPermitted;
       f.cupti.counters_problem = "ERR_NVGPUCTRPERM";
     },
     "ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0"},
    {DoctorState::kCountersRefused,
     [](auto& f) {
       f.cupti.counters = CuptiState::kRefused;
       f.cupti.counters_problem = "refused";
       f.cupti.counters_fix = "the fix";
     },
     "refused (the fix)", ""},
    {DoctorState::kFrameworkFound, [](auto& f) { f.frameworks = {Framework("keras", false, "")}; },
     "XLA compiles this", ""},
    {DoctorState::kFrameworkWithoutCuda,
     [](auto& f) { f.frameworks = {Framework("tensorflow-cpu", true, "")}; },
     "built without CUDA: it uses no GPU; XLA compiles this", "tensorflow[and-cuda]==2.0"},
    {DoctorState::kFrameworkReady,
     [](auto& f) {
       f.driver.found = true;
       f.frameworks = {Framework("tensorflow", true, "12.5.1")};
     },
     "built for CUDA 12.5.1 and cuDNN 9; XLA compiles this", ""},
    {DoctorState::kFrameworkNoGpu,
     [](auto& f) {
       f.driver.devices.clear();
       f.frameworks = {Framework("tensorflow", true, "12.5.1")};
     },
     "built for CUDA 12.5.1 and cuDNN 9, but there is no driver or no device", ""},
    {DoctorState::kFrameworkDriverTooOld,
     [](auto& f) {
       f.driver.found = true;
       f.driver.version = 11080;
       f.frameworks = {Framework("tensorflow", true, "12.5.1")};
     },
     "the driver supports CUDA 11.8", "nvidia-driver"},
    {DoctorState::kPerfAllowed, {}, "are accessible", ""},
    {DoctorState::kPerfForbidden, [](auto& f) { f.system.perf_event_paranoid = 3; },
     "kernel.perf_event_paranoid is 3", "sudo sysctl kernel.perf_event_paranoid=2"},
    {DoctorState::kLimitDefault, {}, "60 seconds", ""},
    {DoctorState::kLimitChanged, [](auto& f) { f.limits.run_deadline_seconds = 5; },
     "5 seconds instead of 60", ""},
    {DoctorState::kAddressSpaceShort,
     [](auto& f) { f.system.address_space_bytes = int64_t{1} << 30; }, "limited to 1024 MiB",
     "ulimit -v unlimited"},
    {DoctorState::kObjectCache,
     [](auto& f) {
       f.object_cache = {.folder = "/home/u/.cache", .files = 3, .bytes = int64_t{5} << 20};
     },
     "/home/u/.cache: 3 compiled modules, 5 of at most 1024 MiB", ""},
    {DoctorState::kChoiceCache,
     [](auto& f) {
       f.choice_cache = {.folder = "/home/u/.cache", .files = 3, .bytes = int64_t{5} << 10};
     },
     "/home/u/.cache: 3 autotune results of NVIDIA's libraries (--autotune)", ""},
    {DoctorState::kNoBuildId,
     [](auto& f) {
       f.object_cache = {.folder = "/home/u/.cache",
                         .library_without_id = "libhloscope_codegen.so"};
     },
     "libhloscope_codegen.so has no build id", "install hloscope again"},
    {DoctorState::kNoLibraryCalls, [](auto& f) { f.has_library_calls = false; },
     "not in this build", ""},
    {DoctorState::kNoObjectCache, {}, "neither XDG_CACHE_HOME nor HOME is set", ""},
    {DoctorState::kVariableSet, {}, "--xla_dump_to (of others)", ""},
};

TEST(Doctor, EveryStateHasItsMessageAndItsCommand) {
  std::set<DoctorState> seen;
  for (const StateRow& row : kStates) {
    DoctorInfo info = row.unseen ? Unseen() : Healthy();
    if (row.change) row.change(info);
    const auto name = DoctorStateRows()[static_cast<size_t>(row.state)];
    SCOPED_TRACE(std::string(name.section) + " " + std::string(name.name));
    bool found = false;
    std::string all;
    for (const DoctorFinding& finding : Diagnose(info)) {
      if (finding.state != row.state) continue;
      all += finding.message + " | " + finding.command + "\n";
      found = found || (finding.message.find(row.message) != std::string::npos &&
                        finding.command.find(row.command) != std::string::npos &&
                        row.command.empty() == finding.command.empty());
    }
    EXPECT_TRUE(found) << "expected \"" << row.message << "\", got:\n" << all;
    seen.insert(row.state);
  }
  EXPECT_EQ(seen.size(), DoctorStateRows().size()) << "a state without a row here";
}

TEST(Doctor, AHealthyMachineNeedsNothing) {
  for (const DoctorFinding& finding : Diagnose(Healthy())) {
    EXPECT_LE(finding.row().status, DoctorStatus::kNote) << finding.message;
    EXPECT_EQ(finding.command, "") << finding.message;
  }
}

TEST(Doctor, RootMayProfileWhateverTheDriverSays) {
  DoctorInfo info = Healthy();
  info.system.profiling_for_root_only = true;
  info.system.is_root = true;
  for (const DoctorFinding& finding : Diagnose(info)) {
    EXPECT_NE(finding.state, DoctorState::kProfilingForbidden);
  }
}

TEST(Doctor, ReadsTheKernelsFiles) {
  const Scratch scratch;
  const auto make = [&](const std::string& name, const std::string& bytes) {
    fs::create_directories(fs::path(scratch.Path(name)).parent_path());
    return scratch.Write(name, bytes);
  };
  make("proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:12:00 UTC 2025\n"
       "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n");
  make("proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\n");
  make("proc/sys/kernel/perf_event_paranoid", "3\n");
  make("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  make("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
  make("sys/bus/pci/devices/0000:02:00.0/vendor", "0x10de\n");  // its sound device
  make("sys/bus/pci/devices/0000:02:00.0/class", "0x040300\n");
  make("dev/nvidia0", "");
  make("dev/nvidia-modeset", "");
  make("dev/null-like", "");
  make(".dockerenv", "");
  const SystemInfo info = ReadSystemInfo(scratch.Path(""));
  EXPECT_EQ(info.kernel_driver, "580.65.06");
  EXPECT_EQ(info.nvidia_devices, 1);
  EXPECT_TRUE(info.in_container);
  ASSERT_EQ(info.nodes.size(), 1U);
  EXPECT_EQ(info.nodes[0].path, "/dev/nvidia0");
  EXPECT_TRUE(info.nodes[0].usable);
  EXPECT_EQ(info.profiling_for_root_only, true);
  EXPECT_EQ(info.perf_event_paranoid, 3);
  const SystemInfo bare = ReadSystemInfo(scratch.Path("nothing"));
  EXPECT_EQ(bare.kernel_driver, "");
  EXPECT_EQ(bare.nodes.size(), 0U);
  EXPECT_FALSE(bare.profiling_for_root_only.has_value());
}

TEST(Doctor, ShowsOfVariablesOnlyWhatHoldsNoSecret) {
  setenv("XLA_FLAGS", "--xla_dump_to=/home/me/key --xla_a 'token'", 1);
  setenv("CUDA_VISIBLE_DEVICES", "0,GPU-1a", 1);
  setenv("JAX_PLATFORMS", "http://user:word@host", 1);
  setenv("LD_LIBRARY_PATH", "/home/me/a:/home/me/b", 1);
  std::map<std::string, std::string> shown;
  for (const VariableInfo& variable : ReadVariables()) shown[variable.name] = variable.shown;
  EXPECT_EQ(shown["XLA_FLAGS"], "--xla_dump_to --xla_a …");
  EXPECT_EQ(shown["CUDA_VISIBLE_DEVICES"], "0,GPU-1a");
  EXPECT_EQ(shown["JAX_PLATFORMS"], "set");
  EXPECT_EQ(shown["LD_LIBRARY_PATH"], "set, 2 paths");
  for (const char* name :
       {"XLA_FLAGS", "CUDA_VISIBLE_DEVICES", "JAX_PLATFORMS", "LD_LIBRARY_PATH"}) {
    unsetenv(name);
  }
}

}  // namespace
}  // namespace hloscope::replay

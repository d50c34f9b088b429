// Finding plugins in Python environments of every layout, made up on the disk.
#include "core/backends/plugins/plugins.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/backends/plugins/python_environments.h"
#include "tests/base/scratch.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCpuFile = "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so";
constexpr const char* kGpuFile = "jax_plugins/xla_cuda13/xla_cuda_plugin.so";

// A home without Python, whatever the machine has.
class PluginsTest : public ::testing::Test {
 protected:
  PluginsTest() {
    for (const char* name : {"HLOSCOPE_PLUGIN_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH",
                             "PYTHONUSERBASE", "PYENV_VERSION", "XDG_DATA_HOME"}) {
      Set(name, nullptr);
    }
    Set("HOME", scratch_.Path("home").c_str());
    Set("PATH", scratch_.Path("bin").c_str());
  }
  ~PluginsTest() override {
    for (const auto& [name, value] : before_) {
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    }
  }
  void Set(const char* name, const char* value) {
    const char* old = getenv(name);
    before_.emplace(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  std::string Make(const std::string& name, std::string_view bytes = "") const {
    fs::create_directories(fs::path(scratch_.Path(name)).parent_path());
    return scratch_.Write(name, bytes);
  }
  std::string Program(const std::string& name) const {
    std::string path = Make(name, "#!/bin/sh\nexit 1\n");
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // An environment as python3 -m venv makes it, holding `file` of `distribution`.
  std::string Venv(const std::string& name, const std::string& file,
                   const std::string& distribution) const {
    Make(name + "/pyvenv.cfg", "home = /nowhere/bin\ninclude-system-site-packages = false\n");
    Program(name + "/bin/python3");
    const std::string packages = name + "/lib/python3.11/site-packages/";
    Make(packages + file);
    Make(packages + distribution + ".dist-info/METADATA");
    return scratch_.Path(name);
  }

  Scratch scratch_;
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(PluginsTest, WithoutAnyTheErrorSaysWhereWasLookedAndWhatInstallsOne) {
  Set("VIRTUAL_ENV", scratch_.Path("gone").c_str());
  const Result<PluginFile> none = ResolvePlugin("xla-cpu", {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().error_class, ErrorClass::kEnvironment);
  EXPECT_NE(none.error().message.find("VIRTUAL_ENV " + scratch_.Path("gone") +
                                      ": no such file or folder"),
            std::string::npos)
      << none.error().message;
  EXPECT_NE(none.error().hint.find("setup --plugins"), std::string::npos) << none.error().hint;
  EXPECT_NE(ResolvePlugin("xla-gpu", {}).error().hint.find("--plugins --gpu"), std::string::npos);
}

TEST_F(PluginsTest, AnUnknownPlatformIsABadName) {
  EXPECT_EQ(ResolvePlugin("xla-tpu", {}).error().error_class, ErrorClass::kInput);
  EXPECT_EQ(ResolvePlugin("pjrt:" + scratch_.Path("x.so"), {}).error().error_class,
            ErrorClass::kInput);
}

TEST_F(PluginsTest, AFileGivenIsTakenAsItIs) {
  const std::string path = Make("my_cpu.so");
  EXPECT_EQ(ResolvePlugin("pjrt:" + path, {})->path, path);
}

TEST_F(PluginsTest, TheActiveEnvironmentGivesPathVersionAndOrigin) {
  const std::string venv = Venv("venv", kCpuFile, "lammps_jax_pjrt_cpu-0.11.2");
  Set("VIRTUAL_ENV", venv.c_str());
  const Result<PluginFile> plugin = ResolvePlugin("xla-cpu", {});
  ASSERT_TRUE(plugin.has_value()) << plugin.error().ToString();
  EXPECT_EQ(plugin->path,
            fs::canonical(venv).string() + "/lib/python3.11/site-packages/" + kCpuFile);
  EXPECT_EQ(plugin->distribution, "lammps-jax-pjrt-cpu");
  EXPECT_EQ(plugin->version, "0.11.2");
  EXPECT_EQ(plugin->origin, "VIRTUAL_ENV");
}

// Each way of naming an environment finds the plugin in it.
TEST_F(PluginsTest, EveryWayOfNamingAnEnvironment) {
  const std::string venv = Venv("venv", kCpuFile, "lammps_jax_pjrt_cpu-0.11.2");
  for (const std::string& python :
       {venv, venv + "/bin/python3", venv + "/lib/python3.11/site-packages"}) {
    EXPECT_EQ(FindPlugins({python}).plugins.size(), 1U) << python;
  }
  for (const auto& [name, value] :
       std::map<const char*, std::string>{{"CONDA_PREFIX", venv},
                                          {"PYTHONPATH", venv + "/lib/python3.11/site-packages"},
                                          {"HLOSCOPE_PLUGIN_PATH", venv},
                                          {"PATH", "/nowhere:" + venv + "/bin"}}) {
    const char* set = getenv(name);
    const std::string before = set == nullptr ? "" : set;
    Set(name, value.c_str());
    EXPECT_TRUE(ResolvePlugin("xla-cpu", {}).has_value()) << name;
    before.empty() ? Set(name, nullptr) : Set(name, before.c_str());
    EXPECT_FALSE(ResolvePlugin("xla-cpu", {}).has_value()) << name;
  }
}

TEST_F(PluginsTest, AnInterpreterLooksOnlyInItsOwnVersionThenInTheUsersPackages) {
  const std::string python = Program("usr/bin/python3.11");
  fs::create_directories(scratch_.Path("bin"));
  fs::create_symlink(python, scratch_.Path("bin/python3"));
  Make(std::string("usr/lib/python3.9/site-packages/") + kCpuFile);
  EXPECT_FALSE(ResolvePlugin("xla-cpu", {}).has_value());
  const std::string user =
      Make(std::string("home/.local/lib/python3.11/site-packages/") + kCpuFile);
  EXPECT_EQ(ResolvePlugin("xla-cpu", {})->path, fs::canonical(user).string());
}

TEST_F(PluginsTest, AnEnvironmentMayStandOnTheSystemsPackages) {
  const std::string venv = Venv("venv", "other/file", "other-1");
  Make("venv/pyvenv.cfg",
       "home = " + scratch_.Path("usr/bin") + "\ninclude-system-site-packages = true\n");
  Make(std::string("usr/lib/python3/dist-packages/") + kCpuFile);
  EXPECT_EQ(FindPlugins({venv}).plugins.size(), 1U);
}

TEST_F(PluginsTest, SeesThroughAShimOfPyenv) {
  Set("PATH", (scratch_.Path("pyenv") + "/shims").c_str());
  Program("pyenv/shims/python3");
  Make("pyenv/version", "3.11\n");
  Make(std::string("pyenv/versions/3.10.9/lib/python3.10/site-packages/") + kCpuFile);
  fs::create_directories(scratch_.Path("pyenv/versions/3.11.7/lib/python3.11/site-packages"));
  EXPECT_FALSE(ResolvePlugin("xla-cpu", {}).has_value());
  Set("PYENV_VERSION", "3.10.9");
  EXPECT_TRUE(ResolvePlugin("xla-cpu", {}).has_value());
}

TEST_F(PluginsTest, AnEntryPointNamesAnUnknownPlugin) {
  const std::string packages = "venv/lib/python3.12/site-packages/";
  Make("venv/pyvenv.cfg", "home = /nowhere\n");
  Make(packages + "acme_cpu/lib/pjrt_plugin_acme.so");
  Make(packages + "acme_xla-2.5.dist-info/entry_points.txt",
       "[console_scripts]\nacme = acme.main:main\n[jax_plugins]\nacme = acme_cpu:initialize\n");
  const PluginFindings found = FindPlugins({scratch_.Path("venv")});
  ASSERT_EQ(found.plugins.size(), 1U);
  EXPECT_EQ(found.plugins[0].distribution, "acme_xla");
  EXPECT_EQ(found.plugins[0].version, "2.5");
  EXPECT_EQ(found.plugins[0].platform(), "");
}

TEST_F(PluginsTest, TheFirstPlaceWinsAndNoPluginIsListedTwice) {
  const std::string active = Venv("active", kGpuFile, "jax_cuda13_pjrt-0.12.0");
  Venv("home/.local/share/hloscope/plugins", kGpuFile, "jax_cuda13_pjrt-0.10.2");
  Set("VIRTUAL_ENV", active.c_str());
  Set("PATH", (active + "/bin").c_str());
  const PluginFindings found = FindPlugins({});
  ASSERT_EQ(found.plugins.size(), 2U);
  EXPECT_EQ(found.plugins[0].version, "0.12.0");
  EXPECT_EQ(found.plugins[0].cuda_major, 13);
  EXPECT_EQ(found.plugins[1].version, "0.10.2");
  EXPECT_EQ(found.plugins[1].origin, "environment of scripts/setup");
  EXPECT_EQ(found.places[1].outcome, "searched above");
  EXPECT_EQ(FindPlugins({scratch_.Path("home")}).plugins.size(), 0U) << "--python searches alone";
  EXPECT_NE(ResolvePlugin("xla-gpu", {"/some/python"})
                .error()
                .hint.find("`/some/python -m pip install --no-deps jax-cuda13-pjrt`"),
            std::string::npos);
}

}  // namespace
}  // namespace hloscope::replay

// Finding PJRT plugins (XLA as a shared library) on the disk. Nothing is loaded and no Python runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/replay/platform_table.h"

namespace hloscope::replay {

struct PluginSearch {
  // --python, or else HLOSCOPE_PYTHON: an interpreter or environment; then no other is searched.
  std::string python;
};

// What the search names, by itself or by HLOSCOPE_PYTHON; empty: nothing.
std::string NamedPython(const PluginSearch& search);

// A shared library that should be a plugin.
struct PluginFile {
  std::string path;
  Devices devices = Devices::kNone;  // that it drives
  std::string distribution;          // what was installed, e.g. "jax-cuda13-pjrt"; empty: unknown
  std::string version;               // of the distribution; empty: unknown
  std::string origin;                // "VIRTUAL_ENV", "HLOSCOPE_PLUGIN_PATH", …
  std::string folder;                // of packages, which it was found below; empty: named itself
  int cuda_major = 0;                // the CUDA it is for; 0: none or unknown
  int least_capability = 0;          // of a device, × 10; 0: any or unknown

  // The name of the platform that it gives; empty: it is reached by pjrt:FILE only.
  std::string_view platform() const;
};

// One place that was searched, and what came of it.
struct SearchedPlace {
  std::string origin;
  std::string path;
  std::string outcome;               // "no such file or folder", "no plugin", "2 plugins", …
  std::vector<std::string> folders;  // of packages
};

struct PluginFindings {
  std::vector<PluginFile> plugins;  // in the order of preference
  std::vector<SearchedPlace> places;
};

// Every plugin in HLOSCOPE_PLUGIN_PATH (files or folders, separated by colons), --python or else
// the active Python environments, and the private one of `scripts/setup --plugins`: by the
// well-known names of plugins.cc, by entry points of the group jax_plugins and in the package
// jax_plugins. Those of well-known names come before others.
PluginFindings FindPlugins(const PluginSearch& search);

// The plugin for the name of a platform that needs one, or "pjrt:FILE". Environment error: there is
// none, with where was looked and what installs one; input error: another name.
Result<PluginFile> ResolvePlugin(std::string_view platform, const PluginSearch& search);

// The command that installs a plugin for those devices.
std::string InstallCommand(Devices devices);

// What pip installs in the place of a plugin that does not work: "jax-cuda12-pjrt==0.12.0"; what it
// was installed from where no better is known.
std::string WorkingWheel(const PluginFile& file);

}  // namespace hloscope::replay

// A dump of three stages of a module; the second pass turns an addition into a subtraction.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/file.h"

namespace hloscope::viewer {

// Makes the folder, and gives it back.
inline std::string GuiltyDump(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& stage, std::string_view opcode) {
    const std::string text =
        "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] " +
        std::string("parameter(1)\n  t = f32[4] tanh(x)\n  ROOT sum = f32[4] ") +
        std::string(opcode) + "(t, y)\n}\n";
    ASSERT_TRUE(WriteFileAtomically(folder + "/module_0001.m." + stage + ".txt", text));
  };
  write("before_optimizations", "add");
  write("0000.simplification.after_pipeline-start.before_dce", "add");
  write("0001.simplification.after_dce.before_algsimp", "add");
  write("0002.simplification.after_algsimp.before_pipeline-end", "subtract");
  write("cpu_after_optimizations", "subtract");
  return folder;
}

}  // namespace hloscope::viewer

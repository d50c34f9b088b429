// NVIDIA's assembler on the texts of tests, where there is one.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/ptx/kernel.h"

namespace hloscope::ptx {

inline void ExpectAssembles(const std::string& body, const std::string& target) {
  static const bool has_assembler = std::system("ptxas --version > /dev/null 2>&1") == 0;
  if (!has_assembler) {
    ::testing::Test::RecordProperty("not_assembled", "there is no ptxas");
    return;
  }
  std::string text = KernelText(body, target);
  text.replace(text.find("8.7"), 3, "8.8");
  const auto path =
      std::filesystem::temp_directory_path() /
      ("hloscope_text_" + std::to_string(reinterpret_cast<uintptr_t>(&text)) + ".ptx");
  std::ofstream(path) << text;
  const std::string command = "ptxas -arch=" + target + " " + path.string() + " -o /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << body;
  std::filesystem::remove(path);
}

}  // namespace hloscope::ptx

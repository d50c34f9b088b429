// The PTX files of the corpus.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/base/paths.h"

namespace hloscope::ptx {

// Paths of the PTX files of the samples and, where there is one, of the corpus, sorted.
inline std::vector<std::string> CorpusFiles() {
  const char* path = std::getenv("HLOSCOPE_CORPUS");
  std::vector<std::string> files;
  for (const std::filesystem::path root :
       {SourcePath("samples"),
        path != nullptr ? std::string(path) : SourcePath("../shared/corpus")}) {
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator it(root, error), end; !error && it != end;
         it.increment(error)) {
      if (it->path().extension() == ".ptx") files.push_back(it->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace hloscope::ptx

// Fuzz targets of what comes in other forms than HLO: module images, traces and the files of dumps.
#pragma once

#include <string>
#include <string_view>

namespace hloscope::fuzz {

// The image of the module that a text or proto holds; empty where it holds none.
std::string ImageSeed(std::string_view file);
void FuzzImage(std::string_view input);

// A trace, unpacked and cut to what mutations can reach; empty where the file is none.
std::string TraceSeed(std::string_view file);
void FuzzTrace(std::string_view input);

// A file of jax.export; empty where the file is none.
std::string ExportSeed(std::string_view file);
void FuzzExport(std::string_view input);

void FuzzReaders(std::string_view input);

}  // namespace hloscope::fuzz

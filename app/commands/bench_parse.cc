// `hloscope bench parse`: reading and printing times and the memory of a parsed module.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "app/commands/bench.h"
#include "app/fail.h"
#include "app/output.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/load.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/text/text.h"

namespace hloscope::app {
namespace {

// CPU time of this process, in milliseconds; everything measured runs on one thread.
double CpuMs() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

int64_t ResidentBytes() {
  int64_t pages = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

struct Figures {
  size_t bytes = 0, instructions = 0;
  double parse_ms = std::numeric_limits<double>::infinity();
  double print_ms = parse_ms, to_proto_ms = parse_ms, from_proto_ms = parse_ms;
  int64_t rss_bytes = 0;
};

// Runs `work` once and lowers `best` to its time.
template <typename Work>
auto Timed(double& best, Work work) {
  double start = CpuMs();
  auto result = work();
  best = std::min(best, CpuMs() - start);
  return result;
}

Result<Figures> Measure(const std::string& path, int64_t repeats, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(FileView file, FileView::Open(path, limits));
  std::string_view bytes = file.bytes();
  Figures figures;
  figures.bytes = bytes.size();
  bool text = dump::Sniff(bytes) == dump::FileKind::kHloText;
  int64_t before = ResidentBytes();
  HLOSCOPE_ASSIGN_OR_RETURN(dump::LoadedModule loaded, dump::LoadSoundModule(path, limits));
  // The loader holds the file's bytes once more.
  figures.rss_bytes =
      std::max<int64_t>(ResidentBytes() - before - static_cast<int64_t>(bytes.size()), 1);
  figures.instructions = loaded.module->instructions().size();
  std::string source(bytes);
  if (!text) {
    source.clear();
    hlo::PrintText(*loaded.module, hlo::TextFormat::kHlo, source);
  }
  for (int64_t k = 0; k < repeats; ++k) {
    hlo::ParseResult parsed =
        Timed(figures.parse_ms, [&] { return hlo::ParseText(source, limits); });
    if (!parsed.ok()) return InternalError(path + ": the printed module does not parse");
    Timed(figures.print_ms, [&] {
      std::string out;
      hlo::PrintText(*parsed.module, hlo::TextFormat::kElided, out);
      return out;
    });
    std::string proto =
        Timed(figures.to_proto_ms, [&] { return hlo::ModuleToProto(*parsed.module); });
    auto raw = std::as_bytes(std::span(proto));
    auto back = Timed(figures.from_proto_ms, [&] { return hlo::ReadProto(raw, limits); });
    if (!back) return std::unexpected(std::move(back).error());
  }
  return figures;
}

std::string Json(const std::string& file, const Figures& f) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject()
      .Field("file", file)
      .Field("bytes", f.bytes)
      .Field("instructions", f.instructions);
  json.Field("parse_ms", f.parse_ms)
      .Field("print_ms", f.print_ms)
      .Field("to_proto_ms", f.to_proto_ms);
  json.Field("from_proto_ms", f.from_proto_ms).Field("rss_bytes", f.rss_bytes).EndObject();
  return out + "\n";
}
std::string Heading() {
  return FormatText("{:>10} {:>12} {:>9} {:>9} {:>9} {:>10} {:>9}  file\n", "bytes", "instructions",
                    "parse ms", "print ms", "to pb ms", "from pb ms", "MiB");
}
std::string Line(const std::string& file, const Figures& f) {
  return FormatText("{:>10} {:>12} {:>9.2f} {:>9.2f} {:>9.2f} {:>10.2f} {:>9.1f}  {}\n", f.bytes,
                    f.instructions, f.parse_ms, f.print_ms, f.to_proto_ms, f.from_proto_ms,
                    static_cast<double>(f.rss_bytes) / (1 << 20), file);
}

}  // namespace

int BenchParse(std::span<const std::string> files, int64_t repeats, const Context& context) {
  int status = kGood;
  bool is_first = true;
  for (const std::string& file : files) {
    Result<Figures> figures = Measure(file, std::max<int64_t>(repeats, 1), context.limits);
    if (!figures) {
      status = Worse(status, Fail(file, figures.error(), context));
      continue;
    }
    if (!context.json && is_first) PrintOut(Heading());
    is_first = false;
    context.json ? WriteOut(Json(file, *figures)) : PrintOut(Line(file, *figures));
  }
  return status;
}

}  // namespace hloscope::app

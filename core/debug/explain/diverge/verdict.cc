#include "core/debug/explain/diverge/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/counted.h"
#include "core/hlo/index_text.h"

namespace hloscope::debug {
namespace {

struct CauseRow {
  std::string_view key, text;
};
constexpr CauseRow kCauses[] = {
#define CAUSE(name, key, text) {key, text},
#include "core/debug/explain/diverge/causes.def"
#undef CAUSE
};

std::string PlacePhrase(const DivergePlace& place) {
  std::string out = fmt::format("{} in {}", place.instruction, place.computation);
  if (!place.calls.empty()) out += fmt::format(" ({})", place.calls);
  return out;
}

// "pass dce of simplification"; passes of a compiler that names none are of the pipeline.
std::string PassPhrase(const PassBlame& blame) {
  return fmt::format("pass {} of {}", blame.pass,
                     blame.pipeline.empty() ? "the pipeline" : blame.pipeline);
}

std::string PassSentence(const DivergeVerdict& verdict) {
  const PassBlame& blame = verdict.passes.front();
  std::string out = fmt::format("{} changed {}", PassPhrase(blame),
                                blame.within_bounds ? "what is computed" : "the numbers");
  if (verdict.place) out += " at " + PlacePhrase(*verdict.place);
  if (!verdict.edit.what.empty()) out += ": " + verdict.edit.what;
  // Unless what ends it says so.
  const bool is_cured = std::ranges::find(verdict.cured_by, blame.pass) != verdict.cured_by.end();
  if (!blame.or_passes.empty() && !is_cured) {
    out += fmt::format("; it may as well have been {}, whose {} could not be compared",
                       fmt::join(blame.or_passes, ", "),
                       VerbFor(std::ssize(blame.or_passes), "stage", "stages"));
  }
  if (blame.within_bounds) {
    out +=
        "; on these inputs the results agree within the bounds: " + OtherValuesPhrase(blame.worst);
  }
  for (const PassBlame& other : verdict.passes) {
    if (&other == &blame) continue;
    out += fmt::format("; {} {}", PassPhrase(other),
                       other.restores ? "hides it again" : "changed them once more");
  }
  if (verdict.undecided > 0) {
    out += verdict.undecided == 1
               ? "; the last stage could not be compared"
               : fmt::format("; the last {} stages could not be compared", verdict.undecided);
  }
  return out;
}

// Who is nearer to the value in double precision, where that is known.
std::string NearerPhrase(const DivergeVerdict& verdict) {
  if (!verdict.walk || !verdict.walk->platform_distance || !verdict.walk->reference_distance) {
    return {};
  }
  const PreciseDistance &ours = *verdict.walk->platform_distance,
                        &theirs = *verdict.walk->reference_distance;
  const auto key = [](const PreciseDistance& d) {
    return std::pair(d.class_mismatched, d.max_ulp);
  };
  const std::string_view without = verdict.walk->asks_for_rounding
                                       ? ", which leaves out the roundings that the module asks for"
                                       : "";
  if (key(ours) == key(theirs))
    return fmt::format("; both are as far from the value in double precision{}", without);
  const bool we_are = key(ours) < key(theirs);
  const PreciseDistance &near = we_are ? ours : theirs, &far = we_are ? theirs : ours;
  std::string out = fmt::format("; {} is nearer to the value in double precision",
                                we_are ? verdict.platform : verdict.reference);
  if (near.class_mismatched == far.class_mismatched) {
    out += fmt::format(" ({:.3g} against {:.3g} ULP)", near.max_ulp, far.max_ulp);
  }
  out += without;
  return out;
}

// A result by its number, as everywhere, or by its place in a tuple of tuples.
std::string ResultName(const std::vector<int64_t>& index) {
  return index.size() == 1 ? fmt::format("out{}", index.front())
                           : "result " + hlo::ShapeIndexText(index);
}

std::string DifferenceSentence(const DivergeVerdict& verdict) {
  std::string out;
  if (verdict.place) {
    out = "first differs at " + PlacePhrase(*verdict.place);
    if (!verdict.edit.what.empty()) out += ": " + verdict.edit.what;
  } else {
    out = "the results differ";
  }
  if (verdict.walk && verdict.walk->inner) {
    out += fmt::format(", inside it at {} ({})", verdict.walk->inner->instruction,
                       verdict.walk->inner->opcode);
  }
  if (verdict.worst && !verdict.worst->equal()) {
    const bool names_result = verdict.place && !verdict.worst_is_of_place;
    out += "; ";
    if (names_result) out += ResultName(verdict.worst->index) + ": ";
    out += ErrorPhrase(*verdict.worst);
  }
  out += NearerPhrase(verdict);
  if (verdict.walk && verdict.walk->reached.empty()) out += "; no result differs";
  if (verdict.cause) out += fmt::format("; the cause is {}", CausePhrase(verdict));
  return out;
}

// The two sides are neighbours: no value of the type lies between them.
bool IsOneStep(const LeafComparison& leaf) {
  return leaf.problem.empty() && leaf.mismatched > 0 && leaf.max_ulp == 1 &&
         leaf.nan_mismatched == 0 && leaf.inf_mismatched == 0 && leaf.shape.IsArray() &&
         hlo::IsFloat(leaf.shape.element_type());
}

// Of two modules whose results agree.
std::string ModulesSentence(const DivergeVerdict& verdict) {
  const OperationChanges& operations = *verdict.operations;
  std::string out = "the results are equal on these inputs";
  if (verdict.worst) {
    out = fmt::format("the results agree within the bounds{}: {}",
                      verdict.bounds.empty() ? "" : " (" + verdict.bounds + ")",
                      OtherValuesPhrase(*verdict.worst));
  }
  if (verdict.place) {
    return out + fmt::format("; the operations differ at {}: {}", PlacePhrase(*verdict.place),
                             verdict.edit.what);
  }
  if (!operations.any()) return out + "; the operations are the same";
  std::string counts;
  const auto count = [&](int64_t n, std::string_view what) {
    if (n > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", n, what);
  };
  count(operations.changed, "changed");
  count(operations.removed, "removed");
  count(operations.added, "added");
  return out + fmt::format("; the operations differ{}: first {}",
                           counts.empty() ? "" : " (" + counts + ")", operations.texts.front());
}

// Of stages that could not be compared; what is behind the last one that was, an error says where
// no run of the whole judges it.
std::string PartlySentence(const DivergeVerdict& verdict) {
  const bool is_run = verdict.status == RunStatus::kEqual && verdict.undecided > 0;
  const bool are_between = verdict.to_compare - verdict.compared > verdict.undecided;
  if (!is_run && !are_between) return {};
  std::string out = fmt::format("; only {} of {} compared", verdict.compared,
                                Counted(verdict.to_compare, "stage could be", "stages could be"));
  if (are_between) out += ", the passes around the others together";
  if (is_run) out += fmt::format("; the run on {} agrees", verdict.platform);
  return out;
}

// What holds, and no more: values were compared on one set of inputs.
std::string EqualSentence(const DivergeVerdict& verdict) {
  if (verdict.stages > 0) {
    const auto stages = verdict.stages - static_cast<int64_t>(verdict.stepped_over.size());
    const bool are_all = verdict.compared == verdict.to_compare;
    const std::string partly = PartlySentence(verdict);
    if (verdict.cause) {
      return fmt::format(
          "no pass changed the meaning: of {} some differ beyond the bounds on these inputs, and "
          "the cause is {}{}",
          Counted(stages, "stage"), Describe(*verdict.cause), partly);
    }
    std::string out = fmt::format("no pass {}changed the numbers: {} on these inputs",
                                  are_all ? "" : "that could be compared ",
                                  Counted(stages, "stage agrees", "stages agree"));
    if (verdict.within_bounds > 0) {
      out += fmt::format(", {} within the bounds and with other bits", verdict.within_bounds);
    }
    return out + partly;
  }
  if (verdict.operations) return ModulesSentence(verdict);
  return "both agree within the bounds";
}

std::string FailureSentence(const DivergeVerdict& verdict) {
  if (verdict.errors.empty()) return "no verdict";
  const std::string error = verdict.errors[0].ToString();
  if (verdict.cause == Cause::kBeforeXla) {
    return "the compiler crashes before its first pass: " + error;
  }
  if (verdict.passes.empty()) {
    return verdict.compared > 0 ? EqualSentence(verdict) + "; " + error : "no verdict: " + error;
  }
  const PassBlame& blame = verdict.passes.front();
  return fmt::format("the compiler fails in pass {}, after {}: {}", blame.pass, blame.file_before,
                     error);
}

bool IsFft(const DivergeFinding& finding) {
  return finding.kernel_opcode == "fft" || (finding.place && finding.place->opcode == "fft");
}

// "out1, out3", the first of them.
std::string ResultNames(const std::vector<int64_t>& results) {
  constexpr size_t kMax = 4;
  const std::span<const int64_t> first(results.data(), std::min(results.size(), kMax));
  std::string out = fmt::format("out{}", fmt::join(first, ", out"));
  if (results.size() > kMax) out += fmt::format(" and {} more", results.size() - kMax);
  return out;
}

// Of results that the first finding does not lead to.
std::string OtherResultsSentence(const DivergeVerdict& verdict) {
  std::string out;
  for (const DivergeFinding& finding : std::span(verdict.findings).subspan(1)) {
    const std::string names = ResultNames(finding.results);
    const std::string_view differ = VerbFor(std::ssize(finding.results), "differs", "differ");
    if (!finding.place && finding.cause.value_or(Cause::kUnexplained) == Cause::kUnexplained) {
      out += fmt::format("; why {} {} was not found", names, differ);
    } else {
      out += fmt::format("; {} {} for another reason", names, differ);
      if (finding.place) out += ", first at " + PlacePhrase(*finding.place);
      if (!finding.edit.what.empty()) out += ": " + finding.edit.what;
      if (finding.cause) out += ", the cause is " + CausePhrase(finding);
    }
    if (!finding.cured_by.empty()) out += ", fixed by " + CuresPhrase(finding.cured_by);
    if (finding.confirmed) out += *finding.confirmed ? ", confirmed" : ", not confirmed";
    if (!finding.not_tried.empty())
      out += fmt::format(" (nothing was tried for {}: {})",
                         finding.results.size() == 1 ? "it" : "them", finding.not_tried);
  }
  return out;
}

std::string SecondSentence(const DivergeVerdict& verdict) {
  const DivergeFinding& first = verdict.findings[0];
  const DivergeFinding& second = verdict.findings[1];
  std::string out = fmt::format("; a second finding: without {} {} still {}", first.pass,
                                Counted(first.mismatched, "element"),
                                VerbFor(first.mismatched, "differs", "differ"));
  if (second.place) out += " at " + PlacePhrase(*second.place);
  if (second.cause) out += ", the cause is " + CausePhrase(second);
  return out + ", fixed by " + CuresPhrase(second.cured_by);
}

}  // namespace

DivergeFinding OnlyFinding(const DivergeVerdict& verdict) {
  return {.pass = verdict.passes.empty() ? "" : verdict.passes.front().pass,
          .cause = verdict.cause,
          .place = verdict.place,
          .edit = verdict.edit,
          .kernel = verdict.kernel,
          .kernel_opcode = verdict.kernel_opcode,
          .cured_by = verdict.cured_by,
          .confirmed = verdict.confirmed,
          .tries = verdict.tries};
}

void SetFirstFinding(DivergeVerdict& verdict, DivergeFinding first) {
  verdict.cause = first.cause;
  verdict.place = first.place;
  verdict.edit = first.edit;
  verdict.kernel = first.kernel;
  verdict.kernel_opcode = first.kernel_opcode;
  verdict.cured_by = first.cured_by;
  verdict.confirmed = first.confirmed;
  verdict.tries = first.tries;
  if (!verdict.findings.empty()) verdict.findings.front() = std::move(first);
}

std::string JudgedResults(const DivergeVerdict& verdict, const DivergeFinding& finding) {
  if (verdict.findings.size() < 2 || finding.results.empty()) return {};
  size_t differing = 0;
  for (const DivergeFinding& each : verdict.findings) differing += each.results.size();
  return fmt::format("{} of {} that differ ({})", finding.results.size(),
                     Counted(differing, "result"), ResultNames(finding.results));
}

std::string_view KeyOf(Cause cause) { return kCauses[static_cast<size_t>(cause)].key; }
std::string_view Describe(Cause cause) { return kCauses[static_cast<size_t>(cause)].text; }

std::string CausePhrase(const DivergeFinding& finding) {
  if (!finding.cause) return {};
  if (finding.cause == Cause::kLibrary && IsFft(finding))
    return "the FFT of a library, whose result differs from that of the reference";
  return std::string(Describe(*finding.cause));
}

std::string CausePhrase(const DivergeVerdict& verdict) {
  if (!verdict.cause) return {};
  const bool is_library = verdict.cause == Cause::kLibrary;
  const bool may_round = is_library || verdict.cause == Cause::kCodeGeneration;
  if (!may_round || !verdict.worst || !IsOneStep(*verdict.worst)) {
    // Without the pass there is no such code.
    const auto pass = std::ranges::find_if(
        verdict.cured_by, [](const std::string& cure) { return !cure.starts_with("--"); });
    if (verdict.cause == Cause::kCodeGeneration && pass != verdict.cured_by.end())
      return fmt::format(
          "the code generated for what {} makes: the module is correct at every stage", *pass);
    return CausePhrase(OnlyFinding(verdict));
  }
  const std::string_view library =
      IsFft(OnlyFinding(verdict)) ? "the FFT of a library" : "a library call or library fusion";
  return fmt::format("a rounding of one step in {} by {}",
                     hlo::ToString(verdict.worst->shape.element_type()),
                     is_library ? library : "the generated code");
}

std::string CuresPhrase(const std::vector<std::string>& cured_by) {
  std::vector<std::string_view> passes, flags;
  for (const std::string& cure : cured_by)
    (cure.starts_with("--") ? flags : passes).push_back(cure);
  std::string out;
  if (!passes.empty()) out = fmt::format("disabling {}", fmt::join(passes, ", "));
  if (flags.empty()) return out;
  return out + (passes.empty() ? "" : " or by ") + fmt::format("{}", fmt::join(flags, ", "));
}

namespace {

// ", largest error 0.5 absolute, 0.1 relative"; empty where there is none.
std::string LargestPhrase(std::string_view what, const LeafComparison& leaf) {
  if (leaf.max_abs_error <= 0) return {};
  return fmt::format(", largest {} {:.3g} absolute, {:.3g} relative", what, leaf.max_abs_error,
                     leaf.max_rel_error);
}

}  // namespace

std::string OtherValuesPhrase(const LeafComparison& leaf) {
  if (!leaf.problem.empty()) return leaf.problem;
  const std::string own = fmt::format("{} of {} of {} {} another value", leaf.mismatched,
                                      Counted(leaf.elements, "element"), ResultName(leaf.index),
                                      VerbFor(leaf.mismatched, "has", "have")) +
                          LargestPhrase("difference", leaf);
  // The largest difference is that of this result alone.
  return leaf.other_leaves == 0 ? own
                                : fmt::format("{}, and elements of {} differ", own,
                                              Counted(leaf.other_leaves, "other result"));
}

std::string ErrorPhrase(const LeafComparison& leaf) {
  if (!leaf.problem.empty()) return leaf.problem;
  std::string out = fmt::format("{} of {} {}", leaf.mismatched, Counted(leaf.elements, "element"),
                                VerbFor(leaf.mismatched, "differs", "differ")) +
                    LargestPhrase("error", leaf);
  if (leaf.nan_mismatched > 0) out += fmt::format(", {} NaN on one side", leaf.nan_mismatched);
  const int64_t one_sided = leaf.inf.total();
  const int64_t opposite = leaf.inf_mismatched - one_sided;
  if (one_sided > 0) out += fmt::format(", {} infinite on one side", one_sided);
  if (opposite > 0) out += fmt::format(", {} infinite with opposite signs", opposite);
  return out;
}

DivergeVerdict RefusedVerdict(Error error) {
  DivergeVerdict verdict;
  verdict.status = StatusOf(error);
  verdict.errors.push_back(std::move(error));
  WriteSentence(verdict);
  return verdict;
}

void WriteSentence(DivergeVerdict& verdict) {
  switch (verdict.status) {
    case RunStatus::kDiffers:
      verdict.sentence =
          verdict.passes.empty() ? DifferenceSentence(verdict) : PassSentence(verdict);
      break;
    case RunStatus::kEqual:
      verdict.sentence = EqualSentence(verdict);
      break;
    default:
      verdict.sentence = FailureSentence(verdict);
  }
  if (!verdict.cured_by.empty()) {
    verdict.sentence += "; fixed by " + CuresPhrase(verdict.cured_by);
    if (!verdict.findings.empty()) {
      const std::string judged = JudgedResults(verdict, verdict.findings.front());
      if (!judged.empty()) verdict.sentence += ", for " + judged;
    }
  }
  if (verdict.confirmed) verdict.sentence += *verdict.confirmed ? "; confirmed" : "; not confirmed";
  if (verdict.findings.size() > 1) {
    const bool are_of_results = !verdict.findings.front().results.empty();
    verdict.sentence += are_of_results ? OtherResultsSentence(verdict) : SecondSentence(verdict);
  }
}

}  // namespace hloscope::debug

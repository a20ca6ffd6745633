#include "tests/runtime/planned_program.hpp"

#include <stdexcept>

namespace tferry::runtime_test {

using Kind = PlanStory::Event::Kind;
using WorkKind = PlannedProgram::Work::Kind;

std::uint64_t PlannedProgram::signature(const Work& work) {
  const char* names[] = {"fill", "add", "mix"};
  return trace::OperationSignature::launch(names[static_cast<int>(work.kind)], {work.grid, 1, 1}, {1, 1, 1});
}

void PlannedProgram::work(Work::Kind kind, unsigned grid, std::vector<int> names) {
  const Work work{kind, grid};
  story_.operation(signature(work), std::move(names));
  work_.resize(story_.events().size());
  work_.back() = work;
}

PlannedProgram layered(std::size_t chunk, int layers, int parked, int parked_weights, std::size_t chunks) {
  PlannedProgram program(chunk);
  const auto index = [](int i) { return static_cast<std::size_t>(i); };
  std::vector<int> weights, activations;
  for (int i = 0; i < layers; ++i) weights.push_back(program.persistent(chunks));
  activations.push_back(program.allocate(chunks));
  program.fill(activations[0], 7);
  for (int i = 0; i < layers; ++i) {
    activations.push_back(program.allocate(chunks));
    program.mix(activations[index(i + 1)], activations[index(i)], weights[index(i)], 1);
    if (i < parked) program.leave(activations[index(i)]);
    if (i < parked_weights) program.leave(weights[index(i)]);
  }
  int gradient = program.allocate(chunks);
  program.fill(gradient, 8);
  for (int i = layers - 1; i >= 0; --i) {
    program.free(activations[index(i + 1)]);
    // Two layers ahead of its use, where the two that were freed make room.
    if (i == layers - 1 && i < parked) program.come_back(activations[index(i)]);
    if (i > 0 && i - 1 < parked) program.come_back(activations[index(i - 1)]);
    if (i < parked_weights) program.come_back(weights[index(i)]);
    const int next = program.allocate(chunks);
    program.mix(next, gradient, activations[index(i)], 2);
    program.mix(weights[index(i)], next, activations[index(i)], 3);
    program.free(gradient);
    gradient = next;
  }
  program.add(gradient, 9);
  program.free(gradient);
  program.free(activations[0]);
  return program;
}

ProgramRun::ProgramRun(const PlannedProgram& program, const Api& api, CUstream stream)
    : program_(program),
      api_(api),
      stream_(stream),
      kernels_(Kernels::load(api)),
      tensors_(program.story().tensors().size()) {
  for (int tensor = 0; tensor < static_cast<int>(tensors_.size()); ++tensor) {
    if (!program.story().tensors()[static_cast<std::size_t>(tensor)].persistent) continue;
    allocate(tensor);
    fill(tensor);
  }
}

void ProgramRun::fill(int tensor) {
  std::uint64_t words = at(tensor).words.size();
  std::uint32_t seed = 100 + value_++;
  void* parameters[] = {&at(tensor).address, &words, &seed};
  check(launch(kernels_.fill, 1000, parameters), "cuLaunchKernel");
  fill_words(at(tensor).words.data(), words, seed);
  at(tensor).defined = true;
}

void ProgramRun::check(CUresult result, const char* what) const {
  if (result != CUDA_SUCCESS) throw std::runtime_error(std::string(what) + ": " + name_of(result));
}

CUresult ProgramRun::launch(CUfunction function, unsigned grid, void** parameters) {
  return api_.cuLaunchKernel(function, grid, 1, 1, 1, 1, 1, 0, stream_, parameters, nullptr);
}

void ProgramRun::iterate(std::size_t from, std::size_t to, const std::function<void(std::size_t)>& before) {
  const auto& events = program_.story().events();
  for (std::size_t i = from; i < std::min(to, events.size()); ++i) {
    if (before) before(i);
    switch (events[i].kind) {
      case Kind::kAllocate:
        allocate(events[i].tensor);
        break;
      case Kind::kFree:
        free(events[i].tensor);
        break;
      case Kind::kOperation:
        operate(i);
        break;
      default:
        break;
    }
  }
}

void ProgramRun::allocate(int tensor) {
  const auto bytes =
      static_cast<std::size_t>(program_.story().tensors()[static_cast<std::size_t>(tensor)].bytes);
  check(api_.cuMemAlloc_v2(&at(tensor).address, bytes), "cuMemAlloc");
  at(tensor).words.assign(bytes / 4, 0);
  at(tensor).defined = false;
}

void ProgramRun::free(int tensor) {
  check(api_.cuMemFree_v2(at(tensor).address), "cuMemFree");
  at(tensor).address = 0;
}

void ProgramRun::operate(std::size_t event) {
  const auto& names = program_.story().events()[event].names;
  const PlannedProgram::Work& work = program_.work_of(event);
  Tensor& out = at(names[0]);
  std::uint64_t words = out.words.size();
  std::uint32_t value = value_++;
  if (work.kind == WorkKind::kMix) {
    Tensor& a = at(names[1]);
    Tensor& b = at(names[2]);
    void* parameters[] = {&out.address, &a.address, &b.address, &words, &value};
    check(launch(kernels_.mix, work.grid, parameters), "cuLaunchKernel");
    out.defined = true;
    mix_words(out.words.data(), a.words.data(), b.words.data(), words, value);
    return;
  }
  void* parameters[] = {&out.address, &words, &value};
  const bool fills = work.kind == WorkKind::kFill;
  check(launch(fills ? kernels_.fill : kernels_.add, work.grid, parameters), "cuLaunchKernel");
  out.defined = out.defined || fills;
  fills ? fill_words(out.words.data(), words, value) : add_words(out.words.data(), words, value);
}

std::string ProgramRun::difference() {
  check(api_.cuCtxSynchronize(), "cuCtxSynchronize");
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    if (tensor.address == 0 || !tensor.defined) continue;
    std::vector<std::uint32_t> found(tensor.words.size());
    check(api_.cuMemcpyDtoH_v2(found.data(), tensor.address, found.size() * 4), "cuMemcpyDtoH");
    for (std::size_t word = 0; word < found.size(); ++word) {
      if (found[word] != tensor.words[word])
        return "tensor " + std::to_string(i) + " differs from word " + std::to_string(word) + " on";
    }
  }
  return {};
}

}  // namespace tferry::runtime_test

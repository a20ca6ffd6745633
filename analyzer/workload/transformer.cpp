#include "analyzer/workload/transformer.hpp"

#include "analyzer/workload/builder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tferry::analyzer {
namespace {

using Id = std::uint32_t;

struct Parameter {
  Id weight, gradient, first_moment, second_moment;
  std::int64_t count;
};

class Step {
 public:
  Step(const TransformerShape& shape, const GpuRates& gpu)
      : shape_(shape),
        gpu_(gpu),
        tokens_(shape.batch * shape.context),
        half_(shape.bf16 ? 2 : 4),
        builder_(fmt::format("transformer {}x{} {}", shape.layers, shape.width, shape.bf16 ? "bf16" : "fp32"),
                 "synthetic") {}

  Workload build() {
    make_parameters();
    Id hidden = embed();
    for (std::int64_t i = 0; i < shape_.layers; ++i)
      hidden = forward(layers_[static_cast<std::size_t>(i)], hidden);
    Id gradient = head(hidden);
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer)
      gradient = backward(*layer, gradient);
    elementwise("embedding backward", {{gradient}, {}, {embedding_.gradient}});
    optimise();
    return builder_.build();
  }

 private:
  /// One product of a layer: its parameters, and what its forward pass keeps.
  struct Linear {
    std::string name;
    std::int64_t in, out;
    Parameter parameter;
    Id input = 0;
  };
  struct Layer {
    std::string name;
    Linear qkv, projection, expand, contract;
    Id hidden = 0, normed = 0, heads = 0, attended = 0, middle = 0, middle_normed = 0, expanded = 0,
       activated = 0;
    Id half = 0, tanh = 0, one_plus = 0;  // of the gelu
  };

  Parameter parameter(const std::string& name, std::int64_t count) {
    return {builder_.persistent(name, count * 4), builder_.fresh(name + ".grad", count * 4),
            builder_.persistent(name + ".exp_avg", count * 4),
            builder_.persistent(name + ".exp_avg_sq", count * 4), count};
  }

  void make_parameters() {
    const std::int64_t d = shape_.width;
    embedding_ = parameter("wte", (shape_.vocabulary + shape_.context) * d);
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
      const std::string name = fmt::format("h.{}", i);
      const auto linear = [&](const char* part, std::int64_t in, std::int64_t out) {
        const std::string full = name + part;
        return Linear{full, in, out, parameter(full, in * out + out)};
      };
      layers_.push_back({name, linear(".attn.c_attn", d, 3 * d), linear(".attn.c_proj", d, d),
                         linear(".mlp.c_fc", d, 4 * d), linear(".mlp.c_proj", 4 * d, d)});
    }
  }

  Id activation(const std::string& name, std::int64_t columns, std::int64_t element) {
    return builder_.fresh(name, tokens_ * columns * element);
  }

  void timed(const std::string& name, double flops, const WorkloadBuilder::Touches& touches) {
    double bytes = 0;
    for (const auto* group : {&touches.reads, &touches.overwrites, &touches.updates}) {
      for (const Id id : *group)
        bytes += static_cast<double>(builder_.size(id)) * (group == &touches.updates ? 2 : 1);
    }
    const double rate = (shape_.bf16 ? gpu_.bf16_tflops : gpu_.fp32_tflops) * 1e3;
    builder_.operation(name, std::max({flops / rate, bytes / gpu_.memory_gbps, gpu_.launch_ns}), touches);
  }
  void elementwise(const std::string& name, const WorkloadBuilder::Touches& touches) {
    timed(name, 0, touches);
  }

  /// The weight as the product reads it: itself, or a copy in bf16 made on the spot.
  Id cast(const Linear& linear, const char* pass) {
    if (!shape_.bf16) return linear.parameter.weight;
    const Id copy = builder_.fresh(linear.name + pass, linear.parameter.count * 2);
    elementwise(linear.name + " cast", {{linear.parameter.weight}, {copy}, {}});
    return copy;
  }

  double flops(const Linear& linear) const {
    return 2.0 * static_cast<double>(tokens_ * linear.in * linear.out);
  }

  Id apply(Linear& linear, Id input) {
    linear.input = input;
    const Id output = activation(linear.name + ".out", linear.out, half_);
    const Id weight = cast(linear, ".bf16");
    timed(linear.name, flops(linear), {{input, weight}, {output}, {}});
    return output;
  }

  Id apply_backward(Linear& linear, Id gradient) {
    const Id to_input = activation(linear.name + ".dgrad", linear.in, half_);
    const Id weight = cast(linear, ".bf16.backward");
    timed(linear.name + " dgrad", flops(linear), {{gradient, weight}, {to_input}, {}});
    timed(linear.name + " wgrad", flops(linear), {{gradient, linear.input}, {linear.parameter.gradient}, {}});
    return to_input;
  }

  Id embed() {
    const Id hidden = activation("embedded", shape_.width, 4);
    elementwise("embedding", {{embedding_.weight}, {hidden}, {}});
    return hidden;
  }

  double attention_flops() const {
    return 2.0 * static_cast<double>(tokens_ * shape_.context * shape_.width);  // two products, causal half
  }

  Id forward(Layer& layer, Id hidden) {
    const std::int64_t d = shape_.width;
    layer.hidden = hidden;
    layer.normed = activation(layer.name + ".ln_1.out", d, half_);
    elementwise(layer.name + ".ln_1", {{hidden}, {layer.normed}, {}});
    layer.heads = apply(layer.qkv, layer.normed);
    layer.attended = activation(layer.name + ".attn.out", d, half_);
    timed(layer.name + ".attention", attention_flops(), {{layer.heads}, {layer.attended}, {}});
    const Id projected = apply(layer.projection, layer.attended);
    layer.middle = activation(layer.name + ".residual", d, 4);
    elementwise(layer.name + ".add", {{hidden, projected}, {layer.middle}, {}});
    layer.middle_normed = activation(layer.name + ".ln_2.out", d, half_);
    elementwise(layer.name + ".ln_2", {{layer.middle}, {layer.middle_normed}, {}});
    layer.expanded = apply(layer.expand, layer.middle_normed);
    gelu(layer);
    const Id contracted = apply(layer.contract, layer.activated);
    const Id out = activation(layer.name + ".out", d, 4);
    elementwise(layer.name + ".add_2", {{layer.middle, contracted}, {out}, {}});
    return out;
  }

  /// 0.5 x (1 + tanh(c (x + k x^3))), operation by operation, as GPT-2 was published: x, 0.5 x, the tanh and
  /// 1 + tanh are kept for the backward pass.
  void gelu(Layer& layer) {
    const auto value = [&](const char* part) { return wide(layer, part); };
    const auto unary = [&](const char* part, Id from) {
      const Id to = value(part);
      elementwise(layer.name + part, {{from}, {to}, {}});
      return to;
    };
    const Id cube = unary(".gelu.pow", layer.expanded);
    const Id scaled = unary(".gelu.mul_k", cube);
    const Id sum = value(".gelu.add");
    elementwise(layer.name + ".gelu.add", {{layer.expanded, scaled}, {sum}, {}});
    layer.tanh = unary(".gelu.tanh", unary(".gelu.mul_c", sum));
    layer.one_plus = unary(".gelu.add_1", layer.tanh);
    layer.half = unary(".gelu.half", layer.expanded);
    layer.activated = value(".gelu.out");
    elementwise(layer.name + ".gelu.mul", {{layer.half, layer.one_plus}, {layer.activated}, {}});
  }

  Id gelu_backward(const Layer& layer, Id gradient) {
    const auto step = [&](const char* part, std::vector<Id> from) {
      const Id to = wide(layer, part);
      elementwise(layer.name + part, {std::move(from), {to}, {}});
      return to;
    };
    const Id to_half = step(".gelu.mul.grad_half", {gradient, layer.one_plus});
    const Id to_tanh = step(".gelu.mul.grad_tanh", {gradient, layer.half});
    const Id direct = step(".gelu.half.grad", {to_half});
    const Id to_sum = step(".gelu.mul_c.grad", {step(".gelu.tanh.grad", {to_tanh, layer.tanh})});
    elementwise(layer.name + ".gelu.accumulate", {{to_sum}, {}, {direct}});
    const Id cubic = step(".gelu.pow.grad", {step(".gelu.mul_k.grad", {to_sum}), layer.expanded});
    elementwise(layer.name + ".gelu.accumulate_2", {{cubic}, {}, {direct}});
    return direct;
  }

  Id wide(const Layer& layer, const char* part) {
    return activation(layer.name + part, 4 * shape_.width, half_);
  }

  /// Final product with the embedding, cross entropy and their backward; returns the gradient of the hidden
  /// state.
  Id head(Id hidden) {
    const std::int64_t d = shape_.width;
    const std::int64_t v = shape_.vocabulary;
    const Id normed = activation("ln_f.out", d, half_);
    elementwise("ln_f", {{hidden}, {normed}, {}});
    const Id logits = activation("logits", v, half_);
    const double product = 2.0 * static_cast<double>(tokens_ * d * v);
    timed("lm_head", product, {{normed, embedding_.weight}, {logits}, {}});
    Id full = logits;
    if (shape_.bf16) {
      full = activation("logits.fp32", v, 4);
      elementwise("logits cast", {{logits}, {full}, {}});
    }
    const Id log_softmax = activation("log_softmax", v, 4);
    elementwise("log_softmax", {{full}, {log_softmax}, {}});
    const Id to_log_softmax = activation("nll.grad", v, 4);
    elementwise("nll_loss backward", {{}, {to_log_softmax}, {}});
    const Id to_full = activation("logits.grad", v, 4);
    elementwise("log_softmax backward", {{log_softmax, to_log_softmax}, {to_full}, {}});
    Id to_logits = to_full;
    if (shape_.bf16) {
      to_logits = activation("logits.grad.bf16", v, 2);
      elementwise("logits cast backward", {{to_full}, {to_logits}, {}});
    }
    const Id to_normed = activation("ln_f.grad", d, half_);
    timed("lm_head dgrad", product, {{to_logits, embedding_.weight}, {to_normed}, {}});
    timed("lm_head wgrad", product, {{to_logits, normed}, {embedding_.gradient}, {}});
    const Id gradient = activation("hidden.grad", d, 4);
    elementwise("ln_f backward", {{to_normed, hidden}, {gradient}, {}});
    return gradient;
  }

  Id backward(Layer& layer, Id gradient) {
    const std::int64_t d = shape_.width;
    const Id to_activated = apply_backward(layer.contract, gradient);
    const Id to_expanded = gelu_backward(layer, to_activated);
    const Id to_normed = apply_backward(layer.expand, to_expanded);
    const Id to_middle = activation(layer.name + ".residual.grad", d, 4);
    elementwise(layer.name + ".ln_2 backward", {{to_normed, layer.middle, gradient}, {to_middle}, {}});
    const Id to_attended = apply_backward(layer.projection, to_middle);
    const Id to_heads = activation(layer.name + ".attn.grad", 3 * d, half_);
    timed(layer.name + ".attention backward", 2.5 * attention_flops(),
          {{to_attended, layer.heads, layer.attended}, {to_heads}, {}});
    const Id to_first_normed = apply_backward(layer.qkv, to_heads);
    const Id to_hidden = activation(layer.name + ".grad", d, 4);
    elementwise(layer.name + ".ln_1 backward", {{to_first_normed, layer.hidden, to_middle}, {to_hidden}, {}});
    return to_hidden;
  }

  void optimise() {
    std::vector<Parameter> all{embedding_};
    for (const Layer& layer : layers_) {
      for (const Linear* linear : {&layer.qkv, &layer.projection, &layer.expand, &layer.contract}) {
        all.push_back(linear->parameter);
      }
    }
    for (const Parameter& p : all) {
      elementwise("adamw", {{p.gradient}, {}, {p.weight, p.first_moment, p.second_moment}});
    }
  }

  TransformerShape shape_;
  GpuRates gpu_;
  std::int64_t tokens_;
  std::int64_t half_;  ///< bytes of an element of a product
  WorkloadBuilder builder_;
  Parameter embedding_{};
  std::vector<Layer> layers_;
};

}  // namespace

Workload transformer_training(const TransformerShape& shape, const GpuRates& gpu) {
  return Step(shape, gpu).build();
}

}  // namespace tferry::analyzer

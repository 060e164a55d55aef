/** Used without a models file. */
export const defaultModels = {
  models: [
    {
      id: 'weir-sim-1',
      name: 'weir/weir-sim-1',
      display_name: 'Weir Sim 1',
      created: 1_767_225_600,
      input_modalities: ['text', 'image', 'file'],
      context_length: 200_000,
      max_output_length: 64_000,
      supported_features: ['tools', 'json_mode', 'structured_outputs'],
      upstream: { kind: 'simulated', thinking_tokens: 0 },
    },
    {
      // Priced, so that credit balances change.
      id: 'weir-sim-thinking-1',
      name: 'weir/weir-sim-thinking-1',
      display_name: 'Weir Sim Thinking 1',
      created: 1_767_225_600,
      input_modalities: ['text', 'image', 'file'],
      context_length: 1_000_000,
      max_output_length: 128_000,
      pricing: { prompt: '0.000001', completion: '0.000005', input_cache_read: '0.0000001' },
      supported_features: ['tools', 'json_mode', 'structured_outputs', 'reasoning'],
      upstream: { kind: 'simulated' },
    },
  ],
};

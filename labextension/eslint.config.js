// What every package keeps to, and who may import whom: lab → chat → sdk, never the other way round.
import js from "@eslint/js";
import tseslint from "typescript-eslint";

const notFromHere = (names, reason) => ({
  "no-restricted-imports": [
    "error",
    {
      patterns: names.map((name) => ({
        group: [name, `${name}/*`, `**/packages/${name.replace(/^svc-?/, "") || "sdk"}/**`],
        message: reason,
      })),
    },
  ],
});

export default tseslint.config(
  { ignores: ["**/dist/**", "**/node_modules/**", "**/*.d.ts"] },
  js.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "no-console": "error",
      "max-lines": ["error", { max: 500 }],
      "max-depth": ["error", 4],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ["**/*.{js,mjs}"],
    languageOptions: { globals: { process: "readonly", console: "readonly", URL: "readonly" } },
  },
  {
    files: ["packages/sdk/src/**"],
    rules: notFromHere(["svc-chat", "svc-lab"], "the SDK stands alone: lab → chat → sdk"),
  },
  {
    files: ["packages/chat/src/**"],
    rules: notFromHere(["svc-lab"], "the element knows no JupyterLab: lab → chat → sdk"),
  },
);

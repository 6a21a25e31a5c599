// The rules for every package, and which package may import which: lab → chat → sdk, never the other way round. Import
// cycles and file names: check-structure.mjs.
import js from "@eslint/js";
import tseslint from "typescript-eslint";

/** Forbids imports of these packages, by name (as in package.json) and by path, and of JupyterLab. */
const forbid = (packages, reason) => ({
  "no-restricted-imports": [
    "error",
    {
      patterns: [
        { group: ["@jupyterlab/*", "@lumino/*"], message: "only packages/lab depends on JupyterLab" },
        ...Object.entries(packages).map(([name, folder]) => ({
          group: [name, `${name}/*`, `**/${folder}/src/**`],
          message: reason,
        })),
      ],
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
    rules: forbid(
      { "@svc-jupyter/chat": "chat", "svc-jupyterlab": "lab" },
      "the SDK imports no other package: lab → chat → sdk",
    ),
  },
  {
    files: ["packages/{chat,page}/src/**"],
    rules: forbid({ "svc-jupyterlab": "lab" }, "what a browser loads does not depend on JupyterLab: lab → chat → sdk"),
  },
);

// A model that answers with what the test's variables hold.
module.exports = class Canned {
  id() {
    return 'canned';
  }

  async callApi(prompt, context) {
    return { output: context.vars.canned };
  }
};
